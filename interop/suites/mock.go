package suites

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"time"
)

// standIn starts a server in the place of one that knows an API's schema: it reads what it
// is sent, and answers with an empty object. Tests that look into answers fail, with and
// without pacer. The variable of that name tells tests where it is.
func standIn(name string) func(context.Context, *Place) ([]string, func(), error) {
	return func(context.Context, *Place) ([]string, func(), error) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) //nolint:errcheck // an answer is given all the same
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{}")
		}))
		return []string{name + "=" + s.URL}, s.Close, nil
	}
}

// stripeMock starts the server that stripe-go's tests are written against.
func stripeMock(ctx context.Context, p *Place) ([]string, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := p.command(ctx, "install", "github.com/stripe/stripe-mock@v0.203.0")
	cmd.Env = append(cmd.Env, "GOBIN="+p.Dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		cancel()
		return nil, nil, fmt.Errorf("stripe-mock: %w\n%s", err, out)
	}
	port, err := freePort(ctx)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	mock := exec.CommandContext(ctx, filepath.Join(p.Dir, "stripe-mock"), "-https-port", port)
	stop := func() { cancel(); mock.Wait() } //nolint:errcheck // it was killed
	if err := mock.Start(); err != nil {
		cancel()
		return nil, nil, err
	}
	for range 600 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("localhost", port))
		if err == nil {
			conn.Close()
			return []string{"STRIPE_MOCK_PORT=" + port}, stop, nil
		}
		<-time.NewTimer(50 * time.Millisecond).C
	}
	stop()
	return nil, nil, fmt.Errorf("stripe-mock does not listen on port %s", port)
}

func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
