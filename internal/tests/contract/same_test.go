package contract

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// What is not paced and not sent again looks the same, from both ends, as if no Transport
// stood between Base and the caller. A scene is played in a bubble over a bare Base and in
// others over Base below a Transport, and what caller and server have seen is compared, to
// the nanosecond.

// scene is what a server and a caller do.
type scene struct {
	server http.HandlerFunc // if nil, echo
	tune   func(*http.Transport)
	caller func(t *testing.T, s *sight, rt http.RoundTripper)
	only   int    // the protocol, 1 or 2; both if zero
	want   string // that the caller sees something of, so that the scene is what it says
	races  bool   // in net/http, so that the caller seldom sees something else: it is played until he sees what is wanted
}

// sight is what was seen.
type sight struct {
	two            bool       // over HTTP/2
	mu             sync.Mutex // protects the fields below
	caller, server []string
	took           time.Duration
}

func (s *sight) callerSees(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caller = append(s.caller, fmt.Sprintf(format, args...))
}

func (s *sight) serverSees(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = append(s.server, fmt.Sprintf(format, args...))
}

// layers are Transports around a Base, with all that watches an exchange and without.
var layers = map[string]func(base http.RoundTripper) http.RoundTripper{
	"zero": func(base http.RoundTripper) http.RoundTripper { return &pacer.Transport{Base: base} },
	"watching": func(base http.RoundTripper) http.RoundTripper {
		return &pacer.Transport{
			Base: base, Quotas: lab.All(lab.InFlight(100), lab.Hoard(), quota.Quota{N: 1000, Burst: 1000}), Trace: &pacer.Trace{},
			Learn: pacer.Learn{Bodies: func(*http.Response) bool { return true }},
			Spent: func(*http.Response) quota.Costs { return quota.Costs{quota.Requests: 1} },
		}
	},
	"streaming": func(base http.RoundTripper) http.RoundTripper { // more than flows
		return &pacer.Transport{Base: base, Quotas: lab.All(quota.Quota{N: math.MaxInt32, Per: time.Millisecond, Unit: quota.Bytes, Streamed: true})}
	},
	"able": func(base http.RoundTripper) http.RoundTripper {
		return &pacer.Transport{Base: base, Retry: pacer.Retry{AttemptTimeout: 2 * time.Hour, ResendHeader: "X-Resent", MaxElapsed: time.Hour}}
	},
	"Observe": func(base http.RoundTripper) http.RoundTripper {
		return &pacer.Transport{Base: base, Mode: pacer.ModeObserve}
	},
	"nested": func(base http.RoundTripper) http.RoundTripper {
		return &pacer.Transport{Base: &pacer.Transport{Base: base, Quotas: lab.All(lab.InFlight(100))}}
	},
}

// same plays scenes over both protocols and every layer.
func same(t *testing.T, scenes map[string]scene) {
	t.Helper()
	for name, sc := range scenes {
		for _, two := range []bool{false, true} {
			protocol := map[bool]string{false: "HTTP/1.1", true: "HTTP/2"}[two]
			if sc.only == 1 && two || sc.only == 2 && !two {
				continue
			}
			t.Run(name+" over "+protocol, func(t *testing.T) {
				bare := sc.play(t, two, func(base http.RoundTripper) http.RoundTripper { return base })
				if !bare.shows(sc.want) {
					t.Errorf("the caller sees nothing of %q:\n%s", sc.want, strings.Join(bare.caller, "\n"))
				}
				for layer, around := range layers {
					got := sc.play(t, two, around)
					got.compare(t, layer, bare)
				}
			})
		}
	}
}

func (s *sight) compare(t *testing.T, layer string, want *sight) {
	t.Helper()
	if !slices.Equal(s.caller, want.caller) {
		t.Errorf("%s: the caller sees\n%s\nand, if bare,\n%s", layer, strings.Join(s.caller, "\n"), strings.Join(want.caller, "\n"))
	}
	if !slices.Equal(s.server, want.server) {
		t.Errorf("%s: the server sees\n%s\nand, if bare,\n%s", layer, strings.Join(s.server, "\n"), strings.Join(want.server, "\n"))
	}
	if s.took != want.took {
		t.Errorf("%s: took %v, and %v if bare", layer, s.took, want.took)
	}
}

func (sc scene) play(t *testing.T, two bool, around func(http.RoundTripper) http.RoundTripper) *sight {
	t.Helper()
	s := sc.once(t, two, around)
	for n := 0; sc.races && n < 100 && !s.shows(sc.want); n++ {
		s = sc.once(t, two, around)
	}
	return s
}

// shows reports whether the caller sees something of text.
func (s *sight) shows(text string) bool { return strings.Contains(strings.Join(s.caller, "\n"), text) }

// once plays the scene in a bubble of its own. That no goroutine is left, the bubble sees.
func (sc scene) once(t *testing.T, two bool, around func(http.RoundTripper) http.RoundTripper) *sight {
	t.Helper()
	s := &sight{two: two}
	synctest.Test(t, func(t *testing.T) {
		h := sc.server
		if h == nil {
			h = echo
		}
		base := lab.Serve(t, two, s.watch(h))
		if sc.tune != nil {
			sc.tune(base)
		}
		start := time.Now()
		sc.caller(t, s, around(base))
		s.took = time.Since(start)
		time.Sleep(time.Second) // a handler may still be at its end
		synctest.Wait()
	})
	return s
}

// echo answers with what it was sent.
func echo(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	w.Write(b)
}

// watch has the server tell what it sees of each request.
func (s *sight) watch(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		head := fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Proto, " ", r.Host, " ", r.Header, " ", r.ContentLength, r.TransferEncoding, r.Trailer, r.Close)
		b := &recorded{ReadCloser: r.Body}
		r.Body = b
		defer func() { s.serverSees("%s\n\t%s %v", head, b, r.Trailer) }()
		h(w, r)
	}
}

// recorded is a body of which is known what was read.
type recorded struct {
	io.ReadCloser
	n     int
	begin []byte
	err   error
}

func (b *recorded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += n
	b.begin = append(b.begin, p[:min(n, max(0, 20-len(b.begin)))]...)
	if err != nil {
		b.err = err
	}
	return n, err
}

func (b *recorded) String() string { return fmt.Sprintf("%d %q %v", b.n, b.begin, b.err) }

// send sends the request, and tells all that the caller sees of what comes back and of the
// request. It returns false if there was no response.
func (s *sight) send(rt http.RoundTripper, req *http.Request) bool {
	before, header, trailer := *req, req.Header.Clone(), req.Trailer.Clone()
	resp, err := rt.RoundTrip(req)
	if err != nil {
		timeout, _ := err.(interface{ Timeout() bool })
		s.callerSees("%T %v, timeout %v, response %v", err, err, timeout != nil && timeout.Timeout(), resp)
	} else {
		s.callerSees("%s", described(resp))
		b := &recorded{ReadCloser: resp.Body}
		_, err := io.Copy(io.Discard, b)
		closed := resp.Body.Close()
		if err != nil {
			closed = nil // after an error net/http says at times the one and at times the other
		}
		s.callerSees("%s %v %v; closed %v; of this request %v", b, err, resp.Trailer, closed, resp.Request == req)
	}
	synctest.Wait()
	s.callerSees("request kept: %v", req.Method == before.Method && req.URL == before.URL && req.Body == before.Body &&
		req.ContentLength == before.ContentLength && req.Host == before.Host && req.Close == before.Close && req.Context() == before.Context() &&
		fmt.Sprint(req.Header, req.Trailer) == fmt.Sprint(header, trailer) && req.Response == before.Response && req.Pattern == before.Pattern)
	if b, ok := req.Body.(*lab.Body); ok {
		s.callerSees("request's body closed: %d", b.Closes)
	}
	return err == nil
}

// described is all of a response but its body.
func described(resp *http.Response) string {
	_, writes := resp.Body.(io.Writer)
	return fmt.Sprint(resp.Status, resp.StatusCode, resp.Proto, resp.ProtoMajor, resp.ProtoMinor, resp.Header, resp.ContentLength,
		resp.TransferEncoding, resp.Close, " uncompressed ", resp.Uncompressed, resp.Trailer, " tls ", resp.TLS != nil, " empty ", resp.Body == http.NoBody, " writes ", writes)
}
