package interop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
)

// Server is a rate limiter that others wrote, with a quota.
type Server struct {
	Name    string
	Package string // that it is of
	Version string // of the package
	Says    string // in its headers, in short
	Truth   Truth

	// Fresh returns the limiter with a quota that nothing has drawn on. What it
	// admits, it answers with 200.
	Fresh func() http.Handler
}

// Documented is the quota as its users read it.
func (s Server) Documented() quota.Quota { return s.Truth.Quota }

// Silent reports whether the server says nothing of limits in its headers.
func (s Server) Silent() bool { return s.Says == nothing }

// Spaced reports whether the server admits one request at a time.
func (s Server) Spaced() bool { return atOnce(s.Truth.Quota) == 1 }

const nothing = "nothing"

// Quotas are those that the servers are run with: windows and buckets, each server with
// those that suit it.
type Quotas struct{ Windows, Buckets []quota.Quota }

// Standard are the quotas that the servers are run with unless others are asked for.
func Standard() Quotas {
	return Quotas{
		Windows: []quota.Quota{{N: 50, Per: 2 * time.Second}, {N: 100, Per: 10 * time.Second}},
		Buckets: []quota.Quota{{N: 20, Per: time.Second, Kind: quota.TokenBucket, Burst: 10}},
	}
}

// Farm is the servers that run on this machine.
type Farm struct {
	Servers []Server
	Missing []error // why others do not run

	stop []func()
}

// Open starts all servers that this machine can run. Node's are in the directory node.
func Open(ctx context.Context, q Quotas, node string) *Farm {
	f := &Farm{Servers: goServers(q)}
	f.add(openNode(ctx, node, q))
	f.add(openNginx(ctx, q))
	for _, s := range f.Servers {
		s.warm(ctx)
	}
	return f
}

// warm lets a server that was just started do slowly what it does slowly at first, with a
// quota that nobody draws on afterwards.
func (s Server) warm(ctx context.Context) {
	h := s.Fresh()
	for range 2 * atOnce(s.Documented()) {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
	}
}

func (f *Farm) add(servers []Server, stop func(), err error) {
	if err != nil {
		f.Missing = append(f.Missing, err)
		return
	}
	f.Servers, f.stop = append(f.Servers, servers...), append(f.stop, stop)
}

// Close ends the processes of the servers.
func (f *Farm) Close() {
	for _, stop := range f.stop {
		stop()
	}
}

// counted returns the quota with the kind by which a server counts.
func counted(kind quota.Kind, q quota.Quota) quota.Quota {
	q.Kind = kind
	return q
}

// each returns the servers that one makes of each quota.
func each(quotas []quota.Quota, one func(quota.Quota) []Server) (servers []Server) {
	for _, q := range quotas {
		servers = slices.Concat(servers, one(q))
	}
	return servers
}

// ok answers what a limiter admits.
var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
