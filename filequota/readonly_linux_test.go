package filequota

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const readOnlyEnv = "FILEQUOTA_READONLY"

// TestReadOnly: a directory that cannot be written is an error of Open, and of Exchange if that happens later;
// the path is told. Root may write everywhere, so that the test is another user then.
func TestReadOnly(t *testing.T) {
	if dir := os.Getenv(readOnlyEnv); dir != "" {
		if err := syscall.Setuid(65534); err != nil {
			t.Skip(err)
		}
		_, err := Open(dir, nil)
		if want := "filequota: open " + dir + "/news: permission denied"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, err := Open(dir+"/below", nil); err == nil || !strings.HasPrefix(err.Error(), "filequota: mkdir "+dir+"/below: permission denied") {
			t.Errorf("got %v", err)
		}
		return
	}
	m := newMachine(t)
	m.process("a", "10/m log").ask(1)
	if err := os.Chmod(m.dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(m.dir, 0o700) }()
	for path := m.dir; len(path) > len(os.TempDir()); path = path[:strings.LastIndexByte(path, '/')] {
		_ = os.Chmod(path, 0o555) // so that another user gets there
	}
	defer func() { _ = os.Chmod(m.dir[:strings.LastIndexByte(m.dir, '/')], 0o700) }()
	if os.Getuid() != 0 {
		p := m.process("b", "10/m log")
		r := p.request(1)
		r.Bucket = "another"
		if _, err := p.Exchange(t.Context(), r); err == nil || !strings.Contains(err.Error(), m.dir) {
			t.Errorf("got %v", err)
		}
		return
	}
	again(t, readOnlyEnv+"="+m.dir)
}

// again runs the test in a process of its own, with a variable.
func again(t *testing.T, env string) {
	t.Helper()
	againAs(t, t.Name(), env)
}

// againAs is again for a test of another name.
func againAs(t *testing.T, name, env string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
