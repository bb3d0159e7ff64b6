package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
)

// nodeKinds are the limiters in node/server.mjs.
var nodeKinds = []struct {
	name, pkg, says string
	stacked         bool // beside its quota is one of twice as many in five windows
	refusalsCount   bool
}{
	{"express legacy", "express-rate-limit", "X-RateLimit, epoch rounded up; Retry-After", false, false},
	{"express draft-6", "express-rate-limit", "RateLimit-Limit, -Remaining, -Reset; Retry-After", false, false},
	{"express draft-7", "express-rate-limit", "RateLimit: limit, remaining, reset; Retry-After", false, false},
	{"express draft-8", "express-rate-limit", "RateLimit: r, t; Retry-After", false, false},
	{"express stacked", "express-rate-limit", "RateLimit: r, t of two quotas; Retry-After", true, false},
	{"fastify", "@fastify/rate-limit", "X-RateLimit, delta; Retry-After", false, false},
	{"fastify, refusals count", "@fastify/rate-limit", "X-RateLimit, delta; Retry-After", false, true},
}

// socketed is a server in the program for Node.
type socketed struct {
	Name   string `json:"name"`
	Socket string `json:"socket"`
	Limit  int    `json:"limit"`
	Window int64  `json:"window"` // ms
}

// openNode starts the limiters for Node. If their packages are not in dir yet, they are
// installed, in the versions of its package-lock.json.
func openNode(ctx context.Context, dir string, q Quotas) (servers []Server, stop func(), err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("the servers for Node: %w", err)
		}
	}()
	versions, err := install(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	sockets, err := os.MkdirTemp("", "interop")
	if err != nil {
		return nil, nil, err
	}
	var asked []socketed
	for _, kind := range nodeKinds {
		for _, window := range q.Windows {
			s := socketed{kind.name, filepath.Join(sockets, fmt.Sprintf("%d.sock", len(asked))), int(window.N), window.Per.Milliseconds()}
			asked = append(asked, s)
			truth := Truth{Quota: counted(quota.FixedWindow, window), RefusalsCount: kind.refusalsCount}
			if kind.stacked {
				truth.Also = []quota.Quota{counted(quota.FixedWindow, quota.Quota{N: 2 * window.N, Per: 5 * window.Per})}
			}
			servers = append(servers, Server{
				Name: kind.name, Package: kind.pkg, Version: versions[kind.pkg], Says: kind.says,
				Truth: truth, Fresh: newUpstream(s.Socket, "/").fresh,
			})
		}
	}
	end, err := startNode(ctx, dir, asked)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(sockets))
	}
	return servers, func() { end(); os.RemoveAll(sockets) }, nil
}

// install makes sure that the packages are there, and returns their versions.
func install(ctx context.Context, dir string) (map[string]string, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w (on Debian: apt-get install nodejs npm)", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); errors.Is(err, fs.ErrNotExist) {
		npm := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		npm.Dir = dir
		if out, err := npm.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("npm ci: %w: %s", err, strings.TrimSpace(string(out)))
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return nil, err
	}
	var pinned struct{ Dependencies map[string]string }
	return pinned.Dependencies, json.Unmarshal(text, &pinned)
}

// startNode starts the program and returns when it serves.
func startNode(ctx context.Context, dir string, asked []socketed) (stop func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.Command("node", "server.mjs") //nolint:noctx // it ends with its input
	var said strings.Builder
	cmd.Dir, cmd.Stderr = dir, &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })() //nolint:errcheck // it has ended already
	stop = func() {
		in.Close()
		cmd.Wait() //nolint:errcheck // how it ends is of no interest
	}
	err = json.NewEncoder(in).Encode(asked)
	if err == nil {
		_, err = out.Read(make([]byte, 16)) // it is ready, or has ended
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("node server.mjs: %w: %s", err, firstLine(said.String()))
	}
	return stop, nil
}
