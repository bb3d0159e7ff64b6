package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gopacer/pacer/quota"
)

// nginxKinds are the ways of nginx's limit_req. By default it refuses with 503.
var nginxKinds = []struct {
	name, options string
	status        int
	queue         bool
}{
	{"nginx nodelay, 429", "nodelay", 429, false},
	{"nginx nodelay, 503", "nodelay", 503, false},
	{"nginx delay, 503", "", 503, true},
}

// openNginx starts nginx with a location for each kind and quota.
func openNginx(ctx context.Context, q Quotas) (servers []Server, stop func(), err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("nginx: %w", err)
		}
	}()
	program, err := exec.LookPath("nginx")
	if err != nil {
		return nil, nil, fmt.Errorf("%w (on Debian: apt-get install nginx-light)", err)
	}
	version, err := nginxVersion(ctx, program)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "nginx.sock")
	var zones, locations strings.Builder
	for _, kind := range nginxKinds {
		for _, bucket := range q.Buckets {
			name := fmt.Sprintf("l%d", len(servers))
			fmt.Fprintf(&zones, "limit_req_zone $uri zone=%s:4m rate=%s;\n", name, nginxRate(bucket))
			fmt.Fprintf(&locations, "location /%s/ { limit_req zone=%[1]s%s %s; limit_req_status %d; try_files /ok =500; }\n",
				name, nginxBurst(bucket), kind.options, kind.status)
			servers = append(servers, Server{
				Name: kind.name, Package: "nginx", Version: version, Says: nothing,
				Truth: Truth{Quota: bucket, Queue: kind.queue}, Fresh: newUpstream(socket, "/"+name+"/").fresh,
			})
		}
	}
	conf := fmt.Sprintf(nginxConf, zones.String(), socket, dir, locations.String())
	stop, err = startNginx(ctx, program, dir, conf, socket)
	return servers, stop, err
}

// nginxConf takes the zones, the socket, the directory of the files, and the locations.
const nginxConf = `daemon off;
pid nginx.pid;
error_log stderr crit;
worker_processes 1;
events { worker_connections 1024; }
http {
access_log off;
client_body_temp_path body;
proxy_temp_path proxy;
fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi;
scgi_temp_path scgi;
keepalive_requests 1000000;
%sserver {
listen unix:%s;
root %s;
%s}
}
`

// nginxRate is a rate as limit_req_zone takes it: whole requests per second or minute.
func nginxRate(q quota.Quota) string {
	if perSecond := q.N * int64(time.Second) / int64(q.Per); perSecond*int64(q.Per) == q.N*int64(time.Second) {
		return fmt.Sprintf("%dr/s", perSecond)
	}
	return fmt.Sprintf("%dr/m", q.N*int64(time.Minute)/int64(q.Per))
}

// nginxBurst is the burst as limit_req takes it: what may be over the rate, which is one
// less than what may go at once.
func nginxBurst(q quota.Quota) string {
	if q.Burst <= 1 {
		return ""
	}
	return fmt.Sprintf(" burst=%d", q.Burst-1)
}

func nginxVersion(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "-v").CombinedOutput()
	_, version, _ := strings.Cut(firstLine(string(out)), "nginx/")
	return version, err
}

// startNginx starts nginx in dir and returns when it serves.
func startNginx(ctx context.Context, program, dir, conf, socket string) (stop func(), err error) {
	remove := func() { os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	// Its workers are of another user if root starts it.
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "ok"), []byte("ok"), 0o644),
		os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600)); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-p", dir, "-c", "nginx.conf", "-e", "stderr") //nolint:noctx // SIGKILL would leave its workers
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait() //nolint:errcheck // it is told to end by a signal
	}()
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it has ended already
		<-ended
		remove()
	}
	for begin := time.Now(); time.Since(begin) < 10*time.Second; {
		if c, err := new(net.Dialer).DialContext(ctx, "unix", socket); err == nil {
			c.Close()
			return stop, nil
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			break
		}
		select {
		case <-ended:
			return nil, errors.New(firstLine(said.String()))
		default:
		}
	}
	stop()
	return nil, errors.New("it did not serve within 10 s")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
