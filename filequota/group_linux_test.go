package filequota

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const ownerEnv = "FILEQUOTA_OWNER"

// TestRootInTheDirectoryOfAUser: after a tool was started by sudo, its user goes on, also where the directory
// was removed meanwhile.
func TestRootInTheDirectoryOfAUser(t *testing.T) {
	use := func(m *machine) {
		p := m.process(fmt.Sprint(os.Getpid()), "10/m log")
		p.ask(1) // an error fails the test
		if err := p.Save(t.Context(), &text{word: p.name}); err != nil {
			t.Errorf("user %d: %v", os.Getuid(), err)
		}
	}
	if dir := os.Getenv(ownerEnv); dir != "" {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(7001), syscall.Setuid(7001)); err != nil {
			t.Skip(err)
		}
		use(machineOf(t, dir))
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can be several users")
	}
	dir, err := os.MkdirTemp("", "filequota") //nolint:usetesting // the other user gets there, but not below t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, 7001, 7001); err != nil {
		t.Fatal(err)
	}
	m := machineOf(t, dir)
	use(m)
	againAs(t, t.Name(), ownerEnv+"="+dir)
	p := m.process("a", "10/m log")
	p.ask(1)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	p.ask(1)
	againAs(t, t.Name(), ownerEnv+"="+dir)
}

const groupEnv = "FILEQUOTA_GROUP"

// TestGroup: users of a group share a directory that has its group and mode 0770, whatever their umask and
// their own groups are, and wherever a process of another user was killed. Root alone can be several users.
func TestGroup(t *testing.T) {
	const users = 7000 // the group
	if as := os.Getenv(groupEnv); as != "" {
		var user, own int
		var dir string
		if _, err := fmt.Sscan(as, &user, &own, &dir); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(syscall.Setgroups([]int{users}), syscall.Setgid(own), syscall.Setuid(user)); err != nil {
			t.Skip(err)
		}
		syscall.Umask(0o022)
		m := machineOf(t, dir)
		p := m.process(fmt.Sprint(os.Getpid()), "10/m log")
		if n := p.ask(1); n != 1 {
			t.Errorf("got %d, want 1", n)
		}
		st, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		replaces := st.Mode()&os.ModeSticky == 0 || user == 7001
		if err := p.Save(t.Context(), &text{word: p.name}); replaces && err != nil || !replaces && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("saved: %v", err)
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can be several users")
	}
	killed := func(t *testing.T, path string, group int, perm os.FileMode) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err := errors.Join(err, f.Chown(7001, group), f.Chmod(perm), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		own    bool // each user has a group of his own beside that of the directory
		sticky bool // nobody may replace what another user has saved
		others bool // the user who was killed does not come
		killed func(t *testing.T, m *machine)
	}{
		"one group":  {},
		"own groups": {own: true},
		"sticky":     {sticky: true},
		"killed as it saved": {killed: func(t *testing.T, m *machine) {
			t.Helper()
			killed(t, filepath.Join(m.dir, "learned.json.new"), users, 0o660)
		}},
		"killed as it made a file": {own: true, others: true, killed: func(t *testing.T, m *machine) {
			t.Helper()
			killed(t, m.path(), 7001, 0o640)
		}},
		"killed as it made the file of news": {own: true, killed: func(t *testing.T, m *machine) {
			t.Helper()
			killed(t, filepath.Join(m.dir, "news"), 7001, 0o640) // which its user mends
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "filequota") //nolint:usetesting // all users get there, but not below t.TempDir
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := errors.Join(os.Chown(dir, 7001, users), os.Chmod(dir, 0o770)); err != nil {
				t.Fatal(err)
			}
			if c.sticky {
				if err := errors.Join(os.Chown(dir, 0, users), os.Chmod(dir, 0o770|os.ModeSticky)); err != nil {
					t.Fatal(err)
				}
			}
			if c.killed != nil {
				c.killed(t, machineOf(t, dir))
			}
			for _, user := range []int{7001, 7002, 7003, 7001} {
				if c.others && user == 7001 {
					continue
				}
				own := users
				if c.own {
					own = user
				}
				againAs(t, "TestGroup", fmt.Sprintf("%s=%d %d %s", groupEnv, user, own, dir))
			}
		})
	}
}
