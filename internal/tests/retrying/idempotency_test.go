package retrying

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// keys is a Base that notes the Idempotency-Key of each request, and answers as a script does.
func keys(answers ...func(*http.Request) (*http.Response, error)) (base lab.RoundTripper, sent *[]string) {
	sent = new([]string)
	s := &lab.Script{Answers: answers}
	return func(r *http.Request) (*http.Response, error) {
		*sent = append(*sent, r.Header.Get("Idempotency-Key"))
		return s.RoundTrip(r)
	}, sent
}

// All attempts of a POST have one key, whatever they are for, and it is repeated as a GET is.
func TestIdempotencyKeyIsOneForAllAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, sent := keys(lab.Status(429, ""), lab.Fails(lab.ErrBroken), lab.Status(503, ""), lab.Status(200, ""))
		n := 0
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, Retry: pacer.Retry{IdempotencyKey: func(*http.Request) string {
			n++
			return "key " + strconv.Itoa(n)
		}}}
		for range 2 {
			req := lab.Request(t, "POST", "http://a.example/", "text")
			before := maps.Clone(req.Header)
			resp, err := tr.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusOK || resp.Request != req {
				t.Fatal(resp, err)
			}
			if !maps.EqualFunc(before, req.Header, slices.Equal) {
				t.Errorf("the caller's request has %v", req.Header)
			}
		}
		if want := []string{"key 1", "key 1", "key 1", "key 1", "key 2"}; !slices.Equal(*sent, want) {
			t.Errorf("sent with %q, want %q", *sent, want)
		}
	})
}

// Who needs no key gets none.
func TestIdempotencyKeyOnlyWhereNeeded(t *testing.T) {
	for name, test := range map[string]struct {
		method, header string
		mode           pacer.Mode
		key            string
		want           []string
	}{
		"POST":               {"POST", "", pacer.ModeWait, "key", []string{"key", "key", "key"}},
		"PATCH":              {"PATCH", "", pacer.ModeWait, "key", []string{"key", "key", "key"}},
		"GET":                {"GET", "", pacer.ModeWait, "key", []string{"", "", ""}},
		"PUT":                {"PUT", "", pacer.ModeWait, "key", []string{"", "", ""}},
		"the caller has one": {"POST", "Idempotency-Key", pacer.ModeWait, "key", []string{"mine", "mine", "mine"}},
		"of another name":    {"POST", "X-Idempotency-Key", pacer.ModeWait, "key", []string{"", "", ""}},
		"no key":             {"POST", "", pacer.ModeWait, "", []string{""}},
		"Observe":            {"POST", "", pacer.ModeObserve, "key", []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, sent := keys(lab.Status(503, ""))
				tr := &pacer.Transport{Base: base, Rand: lab.Zero, Mode: test.mode, Retry: pacer.Retry{IdempotencyKey: func(*http.Request) string { return test.key }}}
				req := lab.Request(t, test.method, "http://a.example/", "text")
				if test.header != "" {
					req.Header.Set(test.header, "mine")
				}
				if _, err := tr.RoundTrip(req); err != nil || !slices.Equal(*sent, test.want) {
					t.Errorf("%v, sent with %q, want %q", err, *sent, test.want)
				}
			})
		})
	}
}

// A redirect is another request, at another host perhaps.
func TestIdempotencyKeyOfARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, sent := keys(lab.Status(307, "", "Location", "http://b.example/"), lab.Status(503, ""), lab.Status(200, ""))
		client := &http.Client{Transport: &pacer.Transport{Base: base, Rand: lab.Zero, Retry: pacer.Retry{IdempotencyKey: pacer.RandomIdempotencyKey}}}
		resp, err := client.Do(lab.Request(t, "POST", "http://a.example/", "text"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if k := *sent; len(k) != 3 || k[0] == k[1] || k[1] != k[2] {
			t.Errorf("sent with %q", k)
		}
	})
}

// RFC 9562 section 5.4.
func TestRandomIdempotencyKey(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 1000 {
		key := pacer.RandomIdempotencyKey(nil)
		if !form.MatchString(key) || seen[key] {
			t.Fatalf("%q is no UUID of version 4, or not a new one", key)
		}
		seen[key] = true
	}
}

// The answer to a request that would not be sent again in any case is the caller's, also if its context has
// just ended.
func TestAnswerOfAnUnsafeMethodWhoseContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tr := &pacer.Transport{Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
		cancel()
		return &http.Response{StatusCode: http.StatusRequestTimeout, Body: http.NoBody, Header: http.Header{}, Request: req}, nil
	})}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://a.example/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Fatalf("got %v, want the 408", err)
	}
	resp.Body.Close()
}
