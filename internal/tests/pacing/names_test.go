package pacing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// notebook has all that a program could write into a log: what Trace is told, errors, and events of a Store.
type notebook struct {
	mu    sync.Mutex
	texts []string
}

func (n *notebook) note(args ...any) {
	n.mu.Lock() // events of a Store come in goroutines of their own
	defer n.mu.Unlock()
	for _, a := range args {
		switch a := a.(type) {
		case error:
			n.texts = append(n.texts, a.Error())
			var e *throttle.Error
			if errors.As(a, &e) {
				n.texts = append(n.texts, e.Bucket, e.Quota)
			}
		case string:
			n.texts = append(n.texts, a)
		}
	}
}

func (n *notebook) trace() *pacer.Trace {
	return &pacer.Trace{
		Queued:  func(q pacer.Queued) { n.note(q.Bucket, string(q.Cause), q.Quota) },
		NotSent: func(q pacer.NotSent) { n.note(q.Bucket, q.Err) },
		Learned: func(l pacer.Learned) {
			n.note(l.Bucket)
			for _, l := range l.Limits {
				n.note(l.Name, l.Counter, l.Unit)
			}
		},
		Answered: func(a pacer.Answered) { n.note(a.Bucket) },
		Retrying: func(r pacer.Retrying) { n.note(r.Bucket, r.Err) },
		GaveUp:   func(g pacer.GaveUp) { n.note(g.Bucket, g.Err, g.Because) },

		StoreEvent: func(e throttle.StoreEvent) { n.note(e.Bucket, e.Err) },
	}
}

// state notes all that State says, as values and as JSON.
func (n *notebook) state(t *testing.T, tr *pacer.Transport) {
	t.Helper()
	for _, s := range tr.State() {
		n.note(s.Bucket, s.Next.Bucket, s.Next.Quota)
		for _, l := range s.Limits {
			n.note(l.Quota, l.Counter, l.Unit)
		}
		if s.Store != nil {
			n.note(s.Store.Err)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		n.note(string(text))
	}
}

// What Key returns may be a credential: of it, a digest alone is in errors, in what Trace is told, in State and
// in what is saved.
func TestKeyIsNotPrinted(t *testing.T) {
	const key = "Bearer s3cret-t0ken"
	for name, shared := range map[string]store.Store{"": nil, "in a Store": &store.Memory{}, "in a Store that fails": broken{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n notebook
				tr := &pacer.Transport{
					Key: func(*http.Request) string { return key }, Mode: pacer.ModeReject, Trace: n.trace(), Rand: lab.Zero,
					Line:   pacer.Line{Flow: func(*http.Request) string { return "flow of " + key }},
					Quotas: pacer.Table{"/": quota.MustParse("3/m window"), "/c/{id}": quota.MustParse("100/m window")},
				}
				if shared != nil {
					tr.Shared = pacer.Shared{Store: shared}
				}
				tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					return lab.Answer(r, 200+229*int(time.Now().Unix()%2), "", "X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "4", "X-RateLimit-Reset", "9", "X-RateLimit-Resource", r.URL.Path[1:2]), nil
				})
				for i := range 12 {
					req := lab.Request(t, "GET", "http://a.example/"+[]string{"c", "d"}[i/3%2]+"/7", "")
					req.Header.Set("Authorization", key)
					if i%3 == 0 {
						req = req.WithContext(pacer.WithCall(req.Context(), &pacer.Call{Mode: pacer.ModeWait}))
					}
					resp, err := tr.RoundTrip(req)
					n.note(err)
					if err == nil {
						resp.Body.Close()
					}
					f, err := tr.Forecast(req)
					n.note(f.Bucket, f.Quota, err)
					n.state(t, tr)
					time.Sleep(time.Second)
				}
				var saved bytes.Buffer
				n.note(tr.Save(&saved), saved.String(), tr.Close())
				digests := 0
				for _, text := range n.texts {
					if strings.HasPrefix(text, "throttle: ") && strings.Contains(text, "\x1b") {
						t.Errorf("what the Store says is in %q", text)
					}
					if strings.Contains(text, "s3cret") {
						t.Errorf("the key is in %q", text)
					}
					if strings.Contains(text, " for "+pacer.KeyDigest(key)) {
						digests++
					}
				}
				if digests < 20 {
					t.Errorf("the digest is in %d of %q", digests, n.texts)
				}
			})
		})
	}
}

// Two tenants with one digest have buckets of their own.
func TestKeysOfOneDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenant := ""
		tr := &pacer.Transport{Base: lab.OK(), Key: func(*http.Request) string { return tenant }, Mode: pacer.ModeReject, Quotas: lab.All(lab.Budget(1))}
		for _, tenant = range []string{"tenant-4497810", "tenant-11634438"} {
			if got := pacer.KeyDigest(tenant); got != "499351d0106a" {
				t.Errorf("%s has the digest %s", tenant, got)
			}
			for i := range 2 {
				if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); (err == nil) != (i == 0) {
					t.Errorf("request %d of %s: %v", i, tenant, err)
				}
			}
		}
		if n := len(tr.State()); n != 3 { // one is of both
			t.Errorf("%d buckets, want 3", n)
		}
	})
}

// What a URL or a server chose reaches a terminal only as what can be seen, and not at any length: the values
// of wildcards, hosts, the names of limits.
func TestForeignTextIsVisible(t *testing.T) {
	const evil = "\x1b]0;owned\x07\r\nlevel=error \u202e\u009b2J\xff"
	long := strings.Repeat("x", 1<<16)
	synctest.Test(t, func(t *testing.T) {
		var n notebook
		tr := &pacer.Transport{
			Mode: pacer.ModeReject, Trace: n.trace(), Rand: lab.Zero, Quotas: pacer.Table{"/c/{id}": quota.MustParse("3/h window"), "/t/{rest...}": quota.MustParse("3/h window")},
			Learn: pacer.Learn{Bodies: func(*http.Response) bool { return true }},
		}
		seq := 0
		tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			seq++
			name := []string{evil, long, "core"}[seq%3]
			body, err := json.Marshal(map[string]any{"error": map[string]any{"type": name, "message": name, "code": "rate_limit_exceeded" + name}})
			if err != nil {
				return nil, err
			}
			return lab.Answer(r, 200+229*(seq/3%2), string(body), "X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "9",
				"X-RateLimit-Resource", name, "RateLimit-Policy", strconv.Quote(name)+`;q=5;w=60;pk=:`+name+`:`, "RateLimit", strconv.Quote(name)+";r=0;t=9", "Content-Type", "application/json"), nil
		})
		for _, path := range []string{"/c/7", "/c/%1b%5d0;owned%07%0d%0alevel=error%20%e2%80%ae%c2%9b2J%ff", "/c/" + long, "/t/%0a/%1b/" + long} {
			for _, host := range []string{"a.example", "a\u202eb.example", long + ".example", "a\x1b\n:99999"} {
				for range 4 {
					req := lab.Request(t, "GET", "http://a.example"+path, "")
					req.URL.Host = host
					resp, err := tr.RoundTrip(req)
					n.note(err)
					if err == nil {
						resp.Body.Close()
					}
					f, err := tr.Forecast(req)
					n.note(f.Bucket, f.Quota, err)
				}
			}
			n.state(t, tr)
			time.Sleep(10 * time.Second)
		}
		if len(n.texts) < 500 {
			t.Errorf("only %d texts", len(n.texts))
		}
		for _, text := range n.texts {
			if len(text) > 1500 && !strings.HasPrefix(text, "{") || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Errorf("%.300q of %d bytes", text, len(text))
			}
		}
		if got, want := fmt.Sprint(n.texts), "/c/%1B]0;owned%07%0D%0Alevel=error%20%E2%80%AE%C2%9B2J%FF at a.example"; !strings.Contains(got, want) {
			t.Errorf("%s is nowhere", want)
		}
	})
}

// broken is a Store whose server says more than it should.
type broken struct{}

func (broken) Listen(string, func(store.News)) (func(), error) { return nil, errors.ErrUnsupported }

func (broken) Exchange(_ context.Context, r *store.Request) (*store.Reply, error) {
	return nil, fmt.Errorf("store: %s: \x1b[2J away", r.Bucket)
}
