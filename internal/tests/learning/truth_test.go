package learning

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// head is what an unmodified server library answered on loopback. The files with them say
// which versions.
type head struct {
	Server  string
	Note    string
	Status  int
	Headers map[string][]string

	// In testdata/header_truth.json: how long it took from this refusal until a request
	// passed, and what its headers claimed, both in seconds.
	TrueWait float64            `json:"true_wait_s"`
	Claims   map[string]float64 `json:"claims_s"`

	// In headers/testdata/captured_headers.json: when the first request to the server and
	// this one were sent, and when this one was answered, in milliseconds since 1970.
	First    int64 `json:"first_request_unix_ms"`
	Sent     int64 `json:"sent_unix_ms"`
	Received int64 `json:"recv_unix_ms"`
}

func heads(t *testing.T, file string) (all []head) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// header returns what was sent, for what net/http makes of it.
func (h head) header() http.Header { return lab.Header(h.Headers) }

// received is when the refusal arrived. An instant in its headers and by how much that
// was ahead tell it exactly; where they state delays, its phase in the second of Date
// does not matter.
func (h head) received(t *testing.T) time.Time {
	t.Helper()
	for name, seconds := range h.Claims {
		if strings.Contains(name, "epoch") {
			reset, err := strconv.ParseInt(h.header().Get("X-RateLimit-Reset"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return time.Unix(reset, 0).Add(-inSeconds(seconds))
		}
	}
	date, err := http.ParseTime(h.header().Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	return date.Add(500 * time.Millisecond)
}

func inSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// hearer is a Transport that is given the answers of a server one by one, and holds
// nobody back.
type hearer struct {
	t       *testing.T
	tr      *pacer.Transport
	status  int
	header  http.Header
	latency time.Duration
}

func newHearer(t *testing.T) *hearer {
	t.Helper()
	l := &hearer{t: t}
	l.tr = &pacer.Transport{Mode: pacer.ModeObserve, Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
		time.Sleep(l.latency)
		resp := lab.Answer(r, l.status, "")
		resp.Header = l.header
		return resp, nil
	})}
	return l
}

// window is what is known of one limit of a server, as Transport.Save writes it.
type window struct {
	Limit, Remaining int
	Early, Late      time.Time // the reset is in between
	Resolution       time.Duration
	Floors           bool // Resolution is rounded down
}

// saved returns what is known of the limits of the only server that was asked.
func saved(t *testing.T, tr *pacer.Transport) []window {
	t.Helper()
	var text bytes.Buffer
	var memory struct {
		Buckets map[string]struct{ Windows []window }
	}
	err := tr.Save(&text)
	if err == nil {
		err = json.Unmarshal(text.Bytes(), &memory)
	}
	if err != nil || len(memory.Buckets) > 1 {
		t.Fatalf("%d buckets, %v", len(memory.Buckets), err)
	}
	for _, b := range memory.Buckets {
		return b.Windows
	}
	return nil
}

// hear sends a request at an instant, and returns what is known of the limit after the
// answer; false if the answer said nothing of any.
func (l *hearer) hear(at time.Time, status int, h http.Header) (w window, ok bool) {
	l.t.Helper()
	time.Sleep(time.Until(at))
	l.status, l.header = status, h
	req := lab.Request(l.t, "GET", "http://a.example/", "")
	resp, err := l.tr.RoundTrip(req)
	if err != nil {
		l.t.Fatal(err)
	}
	resp.Body.Close()
	windows := saved(l.t, l.tr)
	if len(windows) == 0 {
		return w, false
	}
	if width := windows[0].Late.Sub(windows[0].Early); len(windows) != 1 || width > windows[0].Resolution+l.latency {
		l.t.Errorf("%d limits, the reset known to %v, want one, known to a step of %v", len(windows), width, windows[0].Resolution)
	}
	return windows[0], true
}

// holds reports whether what happened from at to last, since it is not known any finer, is
// in the interval that is known of the reset.
func holds(w window, at, last time.Time) bool {
	return !last.Before(w.Early) && !at.After(w.Late)
}

// silent are the servers that say nothing.
var silent = map[string]bool{"xtime-20/s-b10-bare": true, "nginx-20/s-b10-429": true, "nginx-20/s-q10-503": true, "cap-nginx-60/m-b3": true}

// TestTruthOfRefusals: 12 refusals of each of 12 servers, at random phases. When a request
// really passed is in the interval in which pacer then expects the reset. The exceptions are
// servers whose word leaves it open.
func TestTruthOfRefusals(t *testing.T) {
	// Whole seconds since 1970, rounded down: nothing in one word tells that. Where it is
	// past, or the request that looks at its end is refused, it is known.
	floored := map[string]bool{"ulule-50/2s": true, "ulule-30/1s": true, "httprate-50/2s": true}
	// The end of a window of an estimate: quota comes back before, at a time that depends
	// on the window before. Only that it is not later is said.
	latest := map[string]bool{"httprate-50/2s": true}
	// A window that begins with its first request. The least of what all answers said is
	// exact, but for a round trip.
	exact := map[string]bool{"express-draft6-50/2s": true, "express-draft7-50/2s": true, "express-draft8-50/2s": true, "fastify-50/2s": true}
	// The request that measured when the window ended stalled: of the 48 that are exact it is
	// the only one which passed after the least that was said, by 15.2 ms.
	stalled := map[string]time.Duration{"express-draft8-50/2s/7": 16 * time.Millisecond}

	seen := map[string]int{}
	for _, h := range heads(t, "testdata/header_truth.json") {
		seen[h.Server]++
		name := h.Server + "/" + strconv.Itoa(seen[h.Server])
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, at := newHearer(t), h.received(t)
				passed := at.Add(inSeconds(h.TrueWait))
				limits := headers.Parse(h.header(), at).Limits
				if least, ok := h.Claims["min over replies of recv+reset"]; ok {
					// An answer before it claimed less.
					before := h.header()
					before.Del("Retry-After")
					l.hear(at.Add(inSeconds(least)-limits[0].Reset.In), 200, before)
				}
				w, ok := l.hear(at, h.Status, h.header())
				if ok == silent[h.Server] {
					t.Fatalf("learned %+v", w)
				}
				if floored[h.Server] && limits[0].Reset.In > 0 && passed.After(w.Late) {
					again := h.header()
					again.Set("Date", w.Late.UTC().Format(http.TimeFormat))
					w, _ = l.hear(w.Late, h.Status, again)
				}
				if latest[h.Server] {
					w.Early = time.Time{}
				}
				if ok && !holds(w, passed.Add(-stalled[name]), passed) {
					t.Errorf("passed after %v, want from %v to %v", passed.Sub(at), w.Early.Sub(at), w.Late.Sub(at))
				}
				if late := w.Late.Sub(passed); exact[h.Server] && late > 10*time.Millisecond {
					t.Errorf("the end of the interval is %v after the truth, want 10ms at most", late)
				}
			})
		})
	}
	for server, n := range seen {
		if n != 12 || len(seen) != 12 {
			t.Errorf("%d refusals of %s, one of %d servers, want 12 of 12", n, server, len(seen))
		}
	}
}

// TestTruthOfRuns: the first two, the last and two refused requests of a run against each of
// 26 servers, and what is known of the reset after each. Windows of servers that begin them with
// the first request end so long after it.
func TestTruthOfRuns(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	ends := map[string]time.Duration{
		"ulule-50/2s": 2 * s, "ulule-30/1s": s, "cap-ulule-5/60s": 60 * s, // rounded down
		"express-legacy-50/2s": 2 * s, "cap-express-legacy-5/60s": 60 * s, "cap-express-both-5/60s": 60 * s,
		"express-draft6-50/2s": 2 * s, "express-draft7-50/2s": 2 * s, "express-draft8-50/2s": 2 * s,
		"cap-express-draft6-5/60s": 60 * s, "cap-express-draft7-5/60s": 60 * s, "cap-express-draft8-5/60s": 60 * s,
		"fastify-50/2s": 2 * s, "cap-fastify-5/60s": 60 * s, "cap-fastify-draft-5/60s": 60 * s,
	}
	// Their reset is the time until all is back: so long for each request that was admitted.
	each := map[string]time.Duration{"throttled-20/s-b10": 50 * ms, "cap-throttled-5/60s": 12 * s}
	// Theirs says nothing that could be checked: the constant 1, and the end of a grid.
	open := map[string]bool{
		"tollbooth-20/s-b10": true, "cap-tollbooth-0.5/s-b3": true,
		"httprate-50/2s": true, "cap-httprate-5/60s": true, "cap-httprate-draft-5/60s": true,
	}
	runs := map[string][]head{}
	for _, h := range heads(t, "../../../headers/testdata/captured_headers.json") {
		runs[h.Server] = append(runs[h.Server], h)
	}
	for server, run := range runs {
		t.Run(server, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHearer(t)
				first, began := time.UnixMilli(run[0].First), time.UnixMilli(run[0].Received)
				for _, h := range run {
					l.latency = time.Duration(h.Received-h.Sent) * ms
					w, ok := l.hear(time.UnixMilli(h.Sent), h.Status, h.header())
					in := ends[server]
					if each[server] > 0 {
						in = each[server] * time.Duration(w.Limit-w.Remaining)
					}
					switch {
					case ok == silent[server]:
						t.Errorf("%s: learned %+v", h.Note, w)
					case silent[server] || open[server]:
					case strings.Contains(server, "ulule") && !w.Floors: // see TestTruthOfRefusals
						if later := holds(w, first.Add(in-s), began.Add(in-s)); !later {
							t.Errorf("%s: expected from %v to %v, want %v less a second", h.Note, w.Early.Sub(first), w.Late.Sub(first), in)
						}
					case in == 0 || !holds(w, first.Add(in), began.Add(in)):
						t.Errorf("%s: expected from %v to %v, want %v", h.Note, w.Early.Sub(first), w.Late.Sub(first), in)
					}
				}
			})
		})
	}
	if len(runs) != 26 {
		t.Errorf("runs of %d servers, want 26", len(runs))
	}
}

// TestLearnedSaysWhatIsBelieved: a hook hears what is believed after each answer that speaks of limits.
func TestLearnedSaysWhatIsBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		var got []string
		n := 5
		tr := &pacer.Transport{
			Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				n--
				return lab.Answer(r, http.StatusOK, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", strconv.Itoa(n), "X-RateLimit-Reset", strconv.Itoa(10-n)), nil
			}),
			Rand: lab.Zero, Trace: &pacer.Trace{Learned: func(l pacer.Learned) { got = append(got, l.Beliefs...) }},
		}
		for range 4 {
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			time.Sleep(3 * time.Second)
		}
		if len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "the server's limit of 10: refills ") || !strings.Contains(got[len(got)-1], "seen since 08:00:") {
			t.Errorf("%q is believed", got)
		}
	})
}
