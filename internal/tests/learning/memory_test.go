package learning

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// run is one run of a program which was started after what an earlier one saved.
func run(t *testing.T, saved *bytes.Buffer, base http.RoundTripper, urls ...string) (*pacer.Transport, []time.Duration) {
	t.Helper()
	tr := &pacer.Transport{Base: base, Rand: lab.Zero, Key: func(r *http.Request) string { return r.Header.Get("Authorization") }}
	if saved.Len() > 0 {
		if err := tr.Load(saved); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	var took []time.Duration
	for _, url := range urls {
		req := lab.Request(t, "GET", url, "")
		req.Header.Set("Authorization", "secret")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		took = append(took, time.Since(start))
	}
	saved.Reset()
	if err := tr.Save(saved); err != nil {
		t.Fatal(err)
	}
	return tr, took
}

// TestMemoryOverRuns runs a program again and again at a server whose limit is used up:
// only the first time it has to find that out.
func TestMemoryOverRuns(t *testing.T) {
	for name, answers := range map[string][]string{
		"remaining":   {"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60"},
		"retry after": {"Retry-After", "60"},
	} {
		synctest.Test(t, func(t *testing.T) {
			status := http.StatusOK
			if name == "retry after" {
				status = http.StatusServiceUnavailable
			}
			sent := 0
			base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				if sent++; sent == 1 {
					return lab.Answer(r, status, "", answers...), nil
				}
				return lab.Answer(r, http.StatusOK, ""), nil
			})
			var saved bytes.Buffer
			start := time.Now()
			tr := &pacer.Transport{Base: base, Rand: lab.Zero, MaxWait: -1, Retry: pacer.Retry{MaxRefusals: -1}}
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if err := tr.Save(&saved); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second) // until the program runs again
			tr = &pacer.Transport{Base: base, Rand: lab.Zero}
			if err := tr.Load(&saved); err != nil {
				t.Fatal(err)
			}
			resp, err = tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if took := time.Since(start); took != time.Minute || sent != 2 {
				t.Errorf("%s: sent %d times, the last after %v, want 2 and 1m0s", name, sent, took)
			}
		})
	}
}

// TestMemoryOfAnEarlierPacer: what an earlier pacer has saved is loaded as well as what this one saves.
func TestMemoryOfAnEarlierPacer(t *testing.T) {
	const file = `{"version":1,"buckets":{"85ff5c92d93a0ccf08a691b883f8d803":{"windows":[{"limit":10,"remaining":0,` +
		`"early":"2026-11-21T08:00:59Z","late":"2026-11-21T08:01:00Z","resolution":1000000000,"floors":true,"refill":0.2}],"at":"2026-11-21T08:00:00Z"}}}`
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		saved := bytes.NewBufferString(file)
		_, took := run(t, saved, lab.OK(), "http://a.example/", "http://a.example/")
		if took[0] != 5*time.Second || took[1] != 10*time.Second { // one token of 0.2 a second
			t.Errorf("they went after %v, want 5s and 10s", took)
		}
	})
}

func TestMemoryIsOfItsBucketAndNamesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			return lab.Answer(r, 200, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "60"), nil
		})
		var saved bytes.Buffer
		run(t, &saved, base, "http://a.example/", "http://b.example/")
		if text := saved.String(); strings.Contains(text, "secret") || strings.Contains(text, "example") {
			t.Errorf("saved %s", text)
		}
		before := saved.String()
		tr, _ := run(t, &saved, base, "http://b.example/")
		if saved.String() != before {
			t.Errorf("saved again: %s, want what was loaded, also for hosts that were not asked: %s", saved.String(), before)
		}
		known := func(key, bucket string) []throttle.Level {
			req := lab.Request(t, "GET", "http://a.example/", "")
			req.Header.Set("Authorization", key)
			_, cancel, err := tr.Acquire(t.Context(), req) // a bucket is made when it is asked for
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			return lab.State(t, tr, bucket).Limits
		}
		if got := known("", "a.example"); len(got) != 0 {
			t.Errorf("without its key, %v is known", got)
		}
		if got := known("secret", "a.example for "+pacer.KeyDigest("secret")); len(got) != 1 || got[0].Available != 7 || got[0].Reset != time.Minute {
			t.Errorf("%+v is known", got)
		}
	})
}

func TestMemoryLoadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "load: empty, want what Save wrote",
		"\n":                         "load: empty, want what Save wrote",
		"{":                          "load: want what Save wrote: unexpected end",
		"[]":                         "load: want what Save wrote: cannot unmarshal array at byte 1",
		"{}":                         "version is 0, want 1",
		`{"version":2}`:              "load: version is 2, want 1: a later version of pacer wrote it",
		`{"version":2,"buckets":[]}`: "load: version is 2, want 1: a later version of pacer wrote it",
		`{"version":0}`:              "load: version is 0, want 1",
		`{"version":1,"buckets":[]}`: "load: want what Save wrote: cannot unmarshal array at byte 24",
		`{"version":1,"buckets":{"x":{"held":"soon"}}}`: "cannot parse",

		`{"version":1,"buckets":{"x":{"held":"` + strings.Repeat("soon", 1e6) + `"}}}`: "…",
		`{"version":1,"buckets":{"x":{"rate":` + strings.Repeat("9", 1e6) + `}}}`:      "9… at byte 1000036",
		`{"version":` + strings.Repeat("9", 1e6) + `}`:                                 "9… at byte 1000011",
	} {
		tr := &pacer.Transport{}
		if err := tr.Load(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "throttle: load: ") || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.100q: %.300v, want %q", text, err, want)
		}
	}
	bad := &pacer.Transport{Quotas: pacer.Table{"/": quota.Quotas{{N: -1, Burst: 1}}}}
	if bad.Save(&bytes.Buffer{}) == nil || bad.Load(strings.NewReader("{}")) == nil {
		t.Error("an invalid Transport was saved or loaded")
	}
}

// TestQuotasOutliveTheProcess: what went of a quota of hours, a day or a month is charged to the next run, of
// the same key alone; windows of the clock end at the same nanosecond. Quotas of a minute are not written, nor
// are names.
func TestQuotasOutliveTheProcess(t *testing.T) {
	for text, test := range map[string]struct {
		next time.Duration // until another one may go
		then string        // the quotas of the next run; empty if they are the same
	}{
		"3/h":                             {time.Hour - time.Minute, ""},
		"3/h window":                      {time.Hour - time.Minute, ""},
		"3/h burst 3":                     {19 * time.Minute, ""},
		"3/d window grid":                 {24*time.Hour - time.Minute, ""},
		"3/d window grid in Asia/Tokyo":   {15*time.Hour - time.Minute, ""},
		"3/month":                         {31*24*time.Hour - time.Minute, ""},
		"3/year window grid":              {366*24*time.Hour - time.Minute, ""},
		"3/d window grid, 9/h":            {24*time.Hour - time.Minute, "9/h, 2/d window grid"},
		"4/d window grid":                 {0, ""},
		"3/d window grid in Europe/Paris": {0, "5/month"},
		"3/m":                             {0, ""},
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				of := func(text string) *pacer.Transport {
					return &pacer.Transport{
						Base: lab.OK(), Quotas: lab.All(quota.MustParse(text)...), Learn: pacer.Learn{Spend: throttle.SpendEager}, MaxWait: -1,
						Key: func(r *http.Request) string { return r.Header.Get("Authorization") },
					}
				}
				send := func(tr *pacer.Transport, key string) (*throttle.Error, error) {
					req := lab.Request(t, "GET", "http://a.example/", "")
					req.Header.Set("Authorization", key)
					resp, err := tr.RoundTrip(req)
					if err == nil {
						resp.Body.Close()
					}
					var e *throttle.Error
					errors.As(err, &e)
					return e, err
				}
				first := of(text)
				for range 3 {
					if _, err := send(first, "secret"); err != nil {
						t.Fatal(err)
					}
				}
				var file bytes.Buffer
				if err := first.Save(&file); err != nil {
					t.Fatal(err)
				}
				for _, word := range []string{"a.example", "secret"} {
					if strings.Contains(file.String(), word) {
						t.Errorf("%q stands in %s", word, &file)
					}
				}
				if has := strings.Contains(file.String(), "used"); has != (text != "3/m") {
					t.Errorf("saved %s", &file)
				}
				time.Sleep(time.Minute)
				second := of(cmp.Or(test.then, text))
				if err := second.Load(bytes.NewReader(file.Bytes())); err != nil {
					t.Fatal(err)
				}
				if _, err := send(second, "another"); err != nil {
					t.Errorf("another key: %v", err)
				}
				var untouched bytes.Buffer // by a run that asked for nothing of that key
				if err := second.Save(&untouched); err != nil {
					t.Fatal(err)
				}
				third := of(cmp.Or(test.then, text))
				if err := third.Load(&untouched); err != nil {
					t.Fatal(err)
				}
				for _, tr := range []*pacer.Transport{second, third} {
					switch e, err := send(tr, "secret"); {
					case test.next == 0 && err != nil, test.next > 0 && (e == nil || e.Wait != test.next):
						t.Errorf("got %v, want a wait of %v", err, test.next)
					}
				}
			})
		})
	}
}

var daySeeds = flag.Int("days", 1, "how many days of each kind are tried")

// TestTenRunsOfADay: a program that is started ten times within a day, and keeps what it used by Save and Load,
// sends what one run would send that goes on all day: in windows of the clock exactly that, of other quotas no
// more than they say. So it is with quotas that change from one run to the next.
func TestTenRunsOfADay(t *testing.T) {
	for name, test := range map[string]struct {
		runs  []string // the quotas of the runs, in turns
		exact bool     // what goes is what goes if nobody starts the program again
	}{
		"grid":            {[]string{"1000/d window grid"}, true},
		"grid in a zone":  {[]string{"1000/d window grid in Asia/Tokyo"}, true},
		"month":           {[]string{"1000/month"}, true},
		"plain":           {[]string{"5000/h"}, true},
		"both":            {[]string{"1000/d window grid, 200/h"}, true},
		"log":             {[]string{"500/h log"}, true},
		"window":          {[]string{"500/h window"}, true},
		"estimate":        {[]string{"500/h estimate"}, true},
		"bucket":          {[]string{"500/h burst 100"}, false},
		"spread":          {[]string{"5000/h"}, false},
		"grid, changed":   {[]string{"1000/d window grid", "900/d window grid", "1000/d window grid, 300/h", "1100/d window grid in UTC"}, false},
		"plain, changed":  {[]string{"5000/h", "4000/h", "60/h", "6000/h"}, false},
		"order, changed":  {[]string{"1000/d window grid, 500/h", "500/h, 1000/d window grid"}, false},
		"kind, changed":   {[]string{"500/h", "500/h log", "500/h sliding"}, false},
		"even":            {[]string{"60/h even"}, false},
		"bucket, changed": {[]string{"60/h burst 30", "50/h burst 30", "40/h burst 30"}, false},
	} {
		if !whole.Part(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(*daySeeds) {
				synctest.Test(t, func(t *testing.T) { day(t, rand.New(rand.NewPCG(seed, 20)), test.runs, test.exact, name == "spread") })
			}
		})
	}
}

// day has a program run for a day that is started ten times, beside one that is started once.
func day(t *testing.T, r *rand.Rand, runs []string, exact, spread bool) {
	t.Helper()
	lab.UntilToday()
	time.Sleep(time.Duration(r.Int64N(int64(24 * time.Hour))))
	started := func(text string, base http.RoundTripper) *pacer.Transport {
		tr := &pacer.Transport{Base: base, Quotas: lab.All(quota.MustParse(text)...), MaxWait: -1}
		if !spread {
			tr.Learn.Spend = throttle.SpendEager
		}
		return tr
	}
	send := func(tr *pacer.Transport) bool {
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	}
	answered := lab.RoundTripper(func(req *http.Request) (*http.Response, error) { return lab.Answer(req, 200, ""), nil }) // lab.OK keeps what comes
	var sent []time.Time
	whole := started(runs[0], answered)
	var file bytes.Buffer
	for n := range 10 {
		text := runs[n%len(runs)]
		tr := started(text, answered)
		if file.Len() > 0 {
			if err := tr.Load(&file); err != nil {
				t.Fatal(err)
			}
		}
		file.Reset()
		for range 1 + r.IntN(12) { // at some instants it sends as much as may go, or some
			most := 10_000
			if r.IntN(2) == 0 {
				most = r.IntN(300)
			}
			for range most {
				went := send(tr)
				if would := exact && send(whole); exact && would != went {
					t.Fatalf("run %d, after %d at %v: sent %v, one run that goes on: %v", n, len(sent), time.Now().UTC(), went, would)
				}
				if !went {
					break
				}
				sent = append(sent, time.Now())
			}
			keeps(t, n, quota.MustParse(text), sent)
			time.Sleep(time.Duration(r.Int64N(int64(24 * time.Hour / 60))))
		}
		if err := tr.Save(&file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Int64N(int64(time.Hour))))
	}
}

// keeps checks that what was sent by now is no more than each quota says that the run has: in its window that
// ends now, or runs.
func keeps(t *testing.T, run int, qs quota.Quotas, sent []time.Time) {
	t.Helper()
	now := time.Now()
	for _, q := range qs {
		from, most := now.Add(-q.Per), q.N
		switch {
		case q.Months > 0:
			from = time.Date(now.UTC().Year(), now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC).Add(-1)
		case q.Kind == quota.ClockWindow:
			zone, err := time.LoadLocation(q.Zone)
			if err != nil {
				t.Fatal(err)
			}
			y, m, d := now.In(zone).Date()
			from = time.Date(y, m, d, 0, 0, 0, 0, zone).Add(-1)
		case q.Kind == quota.FixedWindow, q.Kind == quota.EstimatedWindow, q.Burst > 1:
			most += max(q.N, q.Burst)
		case q.Burst == 1:
			most++
		}
		n := 0
		for i := len(sent) - 1; i >= 0 && sent[i].After(from); i-- {
			n++
		}
		if int64(n) > most && sent[len(sent)-1].Equal(now) {
			t.Fatalf("run %d, of %v: %d were sent since %v, want %d at most", run, q, n, from.UTC(), most)
		}
	}
}

// TestMemoryOfAQuietProgram: what a program does between its last request and Save changes nothing of what is
// known of a silent server.
func TestMemoryOfAQuietProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.TokenBucket{Rate: 5, Burst: 8}, pacertest.NoHeaders)
		defer server.Close()
		tr := &pacer.Transport{Base: server.Transport(), Rand: lab.Zero}
		for range 30 {
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		}
		save := func() string {
			var saved strings.Builder
			if err := tr.Save(&saved); err != nil {
				t.Fatal(err)
			}
			return saved.String()
		}
		known := save()
		if !strings.Contains(known, `"rate"`) {
			t.Fatalf("no rate is saved: %s", known)
		}
		for range 10 {
			if time.Sleep(time.Minute); save() != known {
				t.Fatalf("saved %s, and %s before", save(), known)
			}
		}
	})
}
