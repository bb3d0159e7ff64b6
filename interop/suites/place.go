package suites

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const pacerModule = "github.com/gopacer/pacer"

// Place is a folder in which a suite runs.
type Place struct {
	Dir     string   // the module of the suite is in a folder of that name, and what goes with it beside
	overlay string   // for go test
	env     []string // of the tests
	pkgs    []testedPackage
}

// testedPackage is what go list says of a package.
type testedPackage struct {
	ImportPath, Name, Dir     string
	TestGoFiles, XTestGoFiles []string
}

// Prepare lays out a suite in a folder below root: the module, in which pacer, that of the
// checkout, is required, and an overlay with which tests have it below their clients.
func (s Suite) Prepare(ctx context.Context, root, checkout string) (*Place, error) {
	p := &Place{Dir: filepath.Join(root, s.dir())}
	if err := os.RemoveAll(p.Dir); err != nil {
		return nil, err
	}
	if err := s.lay(ctx, p.module()); err != nil {
		return nil, err
	}
	if err := p.require(ctx, checkout); err != nil {
		return nil, err
	}
	out, err := p.run(ctx, append([]string{"list", "-json=ImportPath,Name,Dir,TestGoFiles,XTestGoFiles"}, s.Packages...)...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var pkg testedPackage
		if err := d.Decode(&pkg); err != nil {
			return nil, err
		}
		if len(pkg.TestGoFiles)+len(pkg.XTestGoFiles) > 0 {
			p.pkgs = append(p.pkgs, pkg)
		}
	}
	return p, p.hook(ctx, s.Patches)
}

// require adds the pacer of the checkout to the module. It drops what the module
// replaces by folders beside it, which nobody has downloaded.
func (p *Place) require(ctx context.Context, checkout string) error {
	out, err := p.run(ctx, "mod", "edit", "-json")
	if err != nil {
		return err
	}
	var mod struct {
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return err
	}
	edit := []string{"mod", "edit", "-replace", pacerModule + "=" + checkout}
	for _, r := range mod.Replace {
		if r.New.Version == "" {
			edit = append(edit, "-dropreplace", r.Old.Path)
		}
	}
	if _, err := p.run(ctx, edit...); err != nil {
		return err
	}
	_, err = p.run(ctx, "get", pacerModule+"@v0.0.0")
	return err
}

// module is where the module of the suite is.
func (p *Place) module() string { return filepath.Join(p.Dir, "module") }

// lay copies the module of the suite, or makes an empty one.
func (s Suite) lay(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if s.Module == "" {
		return os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module std.test\n\ngo 1.25.0\n"), 0o600)
	}
	p := &Place{Dir: filepath.Dir(dir)}
	out, err := p.run(ctx, "mod", "download", "-json", s.Module+"@"+s.Version)
	if err != nil {
		return err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return err
	}
	from := os.DirFS(downloaded.Dir)
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && !strings.Contains(name, "/") && len(s.Dirs) > 0 && !slices.Contains(s.Dirs, name):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o700)
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600) // what the module cache has may not be written to
	})
}

// Patch changes one place of a file.
type Patch struct{ File, Old, New string }

// The hook in net/http: what http.Client calls to get its transport, and what calls
// transports in its place.
var patches = []Patch{
	{
		"net/http/client.go",
		`func (c *Client) transport() RoundTripper {
	if c.Transport != nil {
		return c.Transport
	}
	return DefaultTransport
}
`,
		`func (c *Client) transport() RoundTripper {
	t := c.Transport
	if t == nil {
		t = DefaultTransport
	}
	if Between != nil {
		t = Between(c, t)
	}
	return t
}

// Between returns the transport that a client uses in place of base.
var Between func(c *Client, base RoundTripper) RoundTripper
`,
	},
	{
		"net/http/httputil/reverseproxy.go",
		`		transport = http.DefaultTransport
	}
`,
		`		transport = http.DefaultTransport
	}
	if http.Between != nil {
		transport = http.Between(nil, transport)
	}
`,
	},
}

//go:embed hook/hook.go
var hook string

// hook writes the overlay: the patched files of the standard library and of the module, and a file
// for each package that sets the hook. That is in the package's external tests, since pacer
// itself imports some of what is tested.
func (p *Place) hook(ctx context.Context, own []Patch) error {
	root, err := p.run(ctx, "env", "GOROOT")
	if err != nil {
		return err
	}
	replace := map[string]string{}
	put := func(in, name, text string) error {
		path := filepath.Join(p.Dir, fmt.Sprintf("%02d_%s", len(replace), name))
		replace[in] = path
		return os.WriteFile(path, []byte(text), 0o600)
	}
	change := func(in string, all []Patch) error {
		for _, patch := range all {
			path := filepath.Join(in, filepath.FromSlash(patch.File))
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if strings.Count(string(text), patch.Old) != 1 {
				return fmt.Errorf("%s is not as expected in this version", path)
			}
			if err := put(path, filepath.Base(path), strings.Replace(string(text), patch.Old, patch.New, 1)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := change(filepath.Join(strings.TrimSpace(string(root)), "src"), patches); err != nil {
		return err
	}
	if err := change(p.module(), own); err != nil {
		return err
	}
	for _, pkg := range p.pkgs {
		_, text, _ := strings.Cut(hook, "\npackage hook\n")
		text = "package " + pkg.Name + "_test\n" + text + "\nfunc init() { http.Between = between }\n"
		if err := put(filepath.Join(pkg.Dir, "zz_pacer_test.go"), "hook.go", text); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return err
	}
	p.overlay = filepath.Join(p.Dir, "overlay.json")
	return os.WriteFile(p.overlay, text, 0o600)
}

// run runs a command of go in the module, and returns what it prints.
func (p *Place) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := p.command(ctx, args...)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s%s", err, failed.Stderr, out)
	}
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// command returns a command of go. Its environment has nothing but what go needs: no
// keys of accounts that tests look for.
func (p *Place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.module()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "PATH", "HOME", "TMPDIR", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN":
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	return cmd
}
