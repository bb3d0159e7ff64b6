// Package security plays those who mean harm: servers, URLs and files. docs/security.md has a line for each.
package security

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/visible"
	"github.com/gopacer/pacer/quota"
)

// patience is more than a request may take that has no deadline: ten refusals, each of them waited for as long
// as MaxStandstill allows, and the attempts after failures.
const patience = 30 * time.Minute

// answers are what a hostile server says, one after the other and then from the first on: a status, headers,
// and after "> " a body, as FuzzServer writes them.
type answers []string

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	all := *a
	text := all[0]
	*a = slices.Concat(all[1:], all[:1])
	status, rest, _ := strings.Cut(text, "\n")
	code, _ := strconv.Atoi(status)
	if code == 0 {
		return nil, lab.ErrBroken
	}
	head, body, _ := strings.Cut(rest, "\n> ")
	h := http.Header{}
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		h.Add(name, value)
	}
	resp := lab.Answer(req, code, body)
	resp.Header = h
	return resp, nil
}

// FuzzServer has a server answer whatever it likes: nothing panics or hangs, a request without a deadline ends
// within patience and one with a deadline by then, nothing grows with what is said, and nothing that cannot be
// seen is printed.
func FuzzServer(f *testing.F) {
	for _, text := range []string{
		"200\nX-RateLimit-Limit: 10\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 99999999999999999999\n\n0",
		"429\nRetry-After: 999999999999\n\n503\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\n\n200",
		"429\nRetry-After: 1\n\n429\nRetry-After: 2\n\n429\nRetry-After: 4",
		"200\nRateLimit-Policy: \"a\x1b[2J\";q=9223372036854775807;w=9223372036854775807\nRateLimit: \"a\x1b[2J\";r=0;t=9223372036854775807",
		"429\nX-RateLimit-Limit-Tokens\n: 1e309\nX-RateLimit-Reset-Tokens: -1\nX-RateLimit-Remaining: NaN\n> {\"error\":{\"retry_after\":1e99}}",
		"403\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1\n> {\"message\":\"API rate limit exceeded\"}\n\n200\nX-RateLimit-Bucket: x\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset-After: 1e10",
		"408\n\n500\n\n502\n\n504\n\n0\n\n0\n\n301\nLocation: http://b.example/",
		"200\nDate: Mon, 01 Jan 0001 00:00:00 GMT\nX-RateLimit-Reset: 253402300799\nX-RateLimit-Remaining: 0\nX-RateLimit-Limit: 1",
		"101\nUpgrade: h2c\n\n-1\n\n99\n\n999\nRetry-After: 1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		synctest.Test(t, func(t *testing.T) { hostile(t, strings.Split(text, "\n\n")) })
	})
}

// hostile sends some requests to a server that gives these answers.
func hostile(t *testing.T, all answers) {
	t.Helper()
	lab.UntilToday()
	seen := func(what, text string) {
		if text != visible.Text(text, math.MaxInt) {
			t.Errorf("%s prints %q", what, text)
		}
	}
	tr := &pacer.Transport{
		Base: &all, Rand: lab.Zero, Learn: pacer.Learn{Bodies: pacer.ErrorBodies}, Retry: pacer.Retry{BufferBody: 1 << 10},
		Trace: &pacer.Trace{Answered: func(a pacer.Answered) { seen("Answered", a.Bucket) }, GaveUp: func(g pacer.GaveUp) { seen("GaveUp", g.Bucket) }},
	}
	for i := range 6 {
		ctx, end := t.Context(), patience
		if i%2 > 0 {
			var cancel context.CancelFunc
			end = time.Duration(i) * time.Second
			ctx, cancel = context.WithTimeout(ctx, end)
			defer cancel()
		}
		req, err := http.NewRequestWithContext(ctx, []string{"GET", "POST", "GET"}[i%3], "http://a.example/"+strconv.Itoa(i), strings.NewReader("text"))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		resp, err := tr.RoundTrip(req)
		if took := time.Since(start); took > end {
			t.Errorf("request %d took %v", i, took)
		}
		if err != nil {
			seen("an error", err.Error())
			continue
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Errorf("body: %v", err)
		}
		resp.Body.Close()
	}
	for _, s := range tr.State() {
		if len(s.Limits) > 16 || s.InFlight != 0 || s.Waiting != 0 || s.Held > 15*time.Minute+time.Second {
			t.Errorf("%+v", s)
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Error(err)
		}
		seen("a State", string(b))
	}
	if saved := save(t, tr); saved.Len() > 64<<10 {
		t.Errorf("saves %d bytes", saved.Len())
	} else if err := new(pacer.Transport).Load(saved); err != nil {
		t.Error(err)
	}
}

func save(t *testing.T, tr *pacer.Transport) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	if err := tr.Save(&b); err != nil {
		t.Error(err)
	}
	return &b
}

var five = quota.Quotas{{N: 5, Per: time.Second}}

// FuzzURL has whoever chooses URLs, methods, hosts and tenants choose them: no request panics, each is sent at
// most once and as it came, and its bucket's name is one line that can be seen.
func FuzzURL(f *testing.F) {
	for _, u := range []string{
		"http://a.example/x/%0a%1b%5b2J/y", "http://user:secret@a.example/?token=secret", "http://[::1%25eth0]:80/", "http://A.EXAMPLE.:080/%2e%2e/%2F",
		"opaque:a/b", "//a.example", "http://a.example:99999/", "http://xn--nxasmq6b/%C0%80", "http://a.example/x/" + strings.Repeat("a", 9000) + "/y", "http:///x", "",
	} {
		f.Add("GET", u, "", "tenant")
	}
	f.Add("get", "http://a.example/x//y", "b.example\r\nX: y", "\x1b]0;title\a")
	f.Fuzz(func(t *testing.T, method, text, host, tenant string) {
		u, err := url.Parse(text)
		if err != nil {
			u = &url.URL{Scheme: "http", Host: host, Path: text}
		}
		sent := 0
		tr := &pacer.Transport{
			Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				if sent++; r.URL.String() != u.String() || r.Host != host || r.Method != method {
					t.Errorf("sent %q %q", r.Method, r.URL)
				}
				return lab.Answer(r, http.StatusOK, ""), nil
			}),
			Key:    func(*http.Request) string { return tenant },
			Quotas: pacer.Table{"a.example/x/{one}/{rest...}": five, "/": five},
		}
		req := &http.Request{Method: method, URL: u, Host: host, Header: http.Header{}, Body: http.NoBody}
		resp, err := tr.RoundTrip(req.WithContext(t.Context()))
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != (sent == 1) {
			t.Errorf("%v, sent %d times", err, sent)
		}
		for _, s := range tr.State() {
			if s.Bucket != visible.Text(s.Bucket, math.MaxInt) || len(s.Bucket) > 4096 {
				t.Errorf("a bucket is %q", s.Bucket)
			}
			if len(tenant) > 12 && strings.Contains(s.Bucket, tenant) && !strings.Contains(text+host, tenant) {
				t.Errorf("%q has the tenant %q", s.Bucket, tenant)
			}
		}
	})
}

// FuzzSnapshot loads files that others wrote. Load may refuse them; what it takes over does not panic, delays a
// request by no more than MaxHold, sends it in the end, and is not more than was read when it is saved.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"version":1,"buckets":{}}`))
	for _, header := range [][]string{{"Retry-After", "60"}, {"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60"}, nil} {
		f.Add(written(f, header...))
	}
	whole := string(written(f, "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60"))
	for old, hostile := range map[string]string{
		`"limit":10`: `"limit":-9223372036854775808,"refill":1e308,"span":9223372036854775807`, `"remaining":0`: `"remaining":-1,"late":"9999-12-31T23:59:59Z"`,
		`"windows":[`: `"held":"9999-12-31T23:59:59Z","rate":1e-300,"growth":1e300,"at":"0001-01-01T00:00:01Z","windows":[{},{"name":"` + strings.Repeat("x", 300) + `"},`,
	} {
		f.Add([]byte(strings.Replace(whole, old, hostile, 1)))
	}
	for _, habits := range []string{
		`"refill":1e-300,"raises":true`, `"refill":0.01,"raises":true,"limit":1`, `"wholeSteps":-9,"earlyFailed":9223372036854775807,"refillFailed":-1,"emptyReset":true,"floors":true`,
		`"unit":"tokens","price":{"mean":1e300,"variance":-1}`, `"unit":"tokens","price":{"mean":1e9,"variance":1e17,"kinds":{"":1e300,"` + strings.Repeat("x", 300) + `":0}}`,
	} {
		f.Add([]byte(strings.Replace(whole, `"remaining":0`, `"remaining":0,`+habits, 1)))
		f.Add([]byte(strings.ReplaceAll(strings.Replace(whole, `"remaining":0`, `"remaining":0,`+habits, 1), "2026-11-", "2025-11-")))
	}
	for _, together := range []string{
		`{"names":["core","core","search"]}`, `{"names":["","` + strings.Repeat("x", 300) + `"]}`, `{"names":["\u001b[2J","a"]}`, `[]`, `{"names":` + strings.Repeat("[", 1000) + `}`,
		`{"counters":{"counters":[{"key":"../..","limit":-1,"leaves":["e3b0c44298fc1c14"]},{"limit":9223372036854775807,"byNumbers":true,"leaves":["",""]}],"full":["e3b0c44298fc1c14"]}}`,
		`{"counters":{"counters":[{"limit":10,"instances":true,"slots":[{"early":"9999-12-31T23:59:59Z","late":"9999-12-31T23:59:59Z","remaining":-1},{}],"leaves":["e3b0c44298fc1c14"]}]}}`,
		`{"counters":{"counters":[{"leaves":[` + strings.Repeat(`"0",`, 3000) + `"1"]}]}}`,
	} {
		f.Add([]byte(strings.Replace(whole, `"windows":[`, `"together":`+together+`,"windows":[`, 1)))
	}
	f.Add([]byte(`{"version":1,"buckets":{"":{"at":"9999-12-31T23:59:59Z","windows":[{"late":"9999-12-31T23:59:59Z"}]}}}`)) // by a clock that was centuries ahead
	f.Add([]byte(strings.Replace(whole, `"windows":[`, `"failuresRefuse":true,"rate":0.001,"former":1e300,"burst":9223372036854775807,"at":"2026-11-21T00:00:00Z","windows":[`, 1)))
	for _, went := range []string{"0,1", "9e18,3,5,1", "5,1125899906842624,0,1125899906842624", "-1,1", "0"} {
		for _, kind := range []string{"window", "window grid", "bucket", "estimate", "log", "sliding", "in flight", "", "of a later version"} {
			f.Add([]byte(strings.Replace(whole, `"windows":[`, `"used":[{"kind":"`+kind+`","span":3600000000000,"at":"2026-11-21T07:59:00Z","went":[`+went+`]}],"windows":[`, 1)))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		// What was charged to quotas delays a request by no more than a span of theirs, twice if a bucket was
		// in debt.
		for text, most := range map[string]time.Duration{
			"9/2m, 99/2m, 9/2m window, 9/2m window grid, 9/2m estimate, 9/2m log, 9/2m sliding, 9/2m burst 9, 9/2m even": 4 * time.Minute,
			"9/d window grid in America/Los_Angeles, 9/d window grid, 99/d":                                              25 * time.Hour,
			"9/w window grid, 99/w":                              7 * 24 * time.Hour,
			"9/month, 9/month window grid from 31 in Asia/Tokyo": 31 * 24 * time.Hour,
		} {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				if most > 30*24*time.Hour {
					time.Sleep(8 * 24 * time.Hour) // to the last days of the month: a wait of days takes a tenth of a second, since the clock is looked at every minute
				}
				tr := &pacer.Transport{Base: lab.OK(), Rand: lab.Zero, MaxStandstill: pacer.Forever, Quotas: lab.All(quota.MustParse(text)...)}
				if err := tr.Load(bytes.NewReader(file)); err != nil {
					return
				}
				if n := save(t, tr).Len(); n > 20*len(file)+64 {
					t.Errorf("%d bytes are saved of %d that were read", n, len(file))
				}
				start := time.Now()
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took > 15*time.Minute+most {
					t.Errorf("took %v", took)
				}
				resp.Body.Close()
			})
		}
		synctest.Test(t, func(t *testing.T) {
			lab.UntilToday()
			tr := &pacer.Transport{Base: lab.OK(), Rand: lab.Zero, MaxStandstill: pacer.Forever}
			if err := tr.Load(bytes.NewReader(file)); err != nil {
				if err := tr.Load(strings.NewReader(`{"version":1}`)); err != nil {
					t.Error(err)
				}
			}
			if n := save(t, tr).Len(); n > 20*len(file)+64 { // JSON writes some characters as six bytes, and zeros that were left out
				t.Errorf("%d bytes are saved of %d that were read", n, len(file))
			}
			start := time.Now()
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if took := time.Since(start); took > 15*time.Minute+2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	})
}

// written is what a Transport saves after an answer with these headers.
func written(tb testing.TB, header ...string) []byte {
	tb.Helper()
	var file bytes.Buffer
	tr := &pacer.Transport{Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
		return lab.Answer(r, http.StatusTooManyRequests, "", header...), nil
	}), Retry: pacer.Retry{MaxRefusals: -1}}
	resp, err := tr.RoundTrip(httptest.NewRequestWithContext(tb.Context(), "GET", "http://a.example/", nil))
	if err != nil {
		tb.Fatal(err)
	}
	resp.Body.Close()
	if err := tr.Save(&file); err != nil {
		tb.Fatal(err)
	}
	// What a bubble reads is of the present there.
	return bytes.ReplaceAll(file.Bytes(), []byte(time.Now().UTC().Format("2006-")), []byte("2026-"))
}
