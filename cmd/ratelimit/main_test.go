package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacer/pacer/internal/tests/lab"
)

// explained runs the program, and returns what it prints.
func explained(t *testing.T, base http.RoundTripper, in string, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run(t.Context(), args, strings.NewReader(in), &out, base)
	return out.String(), err
}

const head = "HTTP/1.1 200 Connection established\r\n\r\nHTTP/2 429\r\ndate: Mon, 02 Mar 2026 12:00:00 GMT\r\n" +
	"x-ratelimit-limit-req-10-second: 60\r\nx-ratelimit-remaining-req-10-second: 0\r\nx-ratelimit-reset-req-10-second: 7\r\n" +
	"retry-after: 7\r\nx-ratelimit-mood: grim\r\nx-bapi-limit: 100\r\nx-bapi-limit-status: 99\r\nserver: nginx\r\n\r\nx-ratelimit-limit: 5 in the body\r\n"

func TestHead(t *testing.T) {
	got, err := explained(t, nil, head)
	if err != nil {
		t.Fatal(err)
	}
	want := `The server refuses the request: 429, too many requests.
The limit "req-10-second": 60 requests in 10s, of which 0 are left. It is restored in 7s, by 2026-03-02 12:00:07 UTC.
  As a quota of pacer: 60/10s
A limit without a name: 100 requests, of which 99 are left. It is not said when that is restored.
  No quota of pacer says the same: the answer names no time of a fixed length.
It asks to wait for 7s before the next attempt.

What says so:
  Retry-After: 7
      when to try again (RFC 9110, 10.2.3)
  X-Bapi-Limit: 100
      how much there is in all (a dialect: https://bybit-exchange.github.io/docs/v5/rate-limit)
  X-Bapi-Limit-Status: 99
      what is left (a dialect: https://bybit-exchange.github.io/docs/v5/rate-limit)
  X-Ratelimit-Limit-Req-10-Second: 60
      how much there is in all, of "req-10-second", per 10s (the words of its name)
  X-Ratelimit-Remaining-Req-10-Second: 0
      what is left, of "req-10-second", per 10s (the words of its name)
  X-Ratelimit-Reset-Req-10-Second: 7
      when it is restored, of "req-10-second", per 10s (the words of its name)

Not understood, though the name looks like one of a limit:
  X-Ratelimit-Mood: grim
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNothing(t *testing.T) {
	got, err := explained(t, nil, "HTTP/1.1 200 OK\nServer: nginx\n")
	if want := "It states no limit.\n"; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

const archive = `{"log":{"entries":[
	{"startedDateTime":"2026-03-02T12:00:00Z","time":500,"request":{"url":"https://u:p@api.test/a?token=secret"},
	 "response":{"status":200,"headers":[{"name":"RateLimit","value":"\"day\";r=1;t=30"},{"name":"RateLimit-Policy","value":"\"day\";q=1000;w=86400"}]}},
	{"startedDateTime":"2026-03-02T12:00:01Z","request":{"url":"https://other.test/"},"response":{"status":200,"headers":[{"name":"Server","value":"x"}]}},
	{"startedDateTime":"2026-03-02T12:00:02Z","time":1000,"request":{"url":"https://api.test/b?token=secret"},
	 "response":{"status":200,"headers":[{"name":"RateLimit","value":"\"day\";r=0;t=28"},{"name":"RateLimit-Policy","value":"\"day\";q=1000;w=86400"}]}}
]}}`

const archiveExplained = `api.test/b
The limit "day": 1000 requests a day, of which 0 are left. It is restored in 28s, by 2026-03-02 12:00:31 UTC.
  As a quota of pacer: 1000/d

What says so:
  Ratelimit: "day";r=0;t=28
      the state of limits (draft-ietf-httpapi-ratelimit-headers)
  Ratelimit-Policy: "day";q=1000;w=86400
      policies (draft-ietf-httpapi-ratelimit-headers)
`

func TestHAR(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.har")
	if err := os.WriteFile(path, []byte("\ufeff"+archive), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"standard input": nil, "a file": {path}} {
		if got, err := explained(t, nil, archive, args...); err != nil || got != archiveExplained {
			t.Errorf("%s: got\n%s, %v\nwant\n%s", name, got, err, archiveExplained)
		}
	}
}

// TestForms has heads as people have them: copied from a browser, from curl -v, from a file of PowerShell.
func TestForms(t *testing.T) {
	const one = "A limit without a name: 1 request a second, of which 1 is left. "
	for name, in := range map[string]string{
		"curl -v":             "*   Trying 192.0.2.1:443...\n} [5 bytes data]\n* ALPN\n> GET / HTTP/2\n> Host: a.test\n>\n< HTTP/2 200 \n< x-ratelimit-limit: 1\n< x-ratelimit-remaining: 1\n< x-ratelimit-window: 1\n<\n{ [5 bytes data]\nx-ratelimit-remaining: 0\n* Connection #0\n",
		"curl -v, redirected": "< HTTP/1.1 301 Moved\r\n< Location: /b\r\n< \r\n* Issue another request\r\n< HTTP/1.1 200 OK\r\n< X-RateLimit-Limit: 1\r\n< X-RateLimit-Remaining: 1\r\n< X-RateLimit-Window: 1\r\n< \r\n",
		"curl -v, of data":    "{ [5 bytes data]\n< HTTP/2 200 \n< x-ratelimit-limit: 1\n< x-ratelimit-remaining: 1\n< x-ratelimit-window: 1\n",
		"a browser, HTTP/2":   ":status: 200\nx-ratelimit-limit: 1\nx-ratelimit-remaining: 1\nx-ratelimit-window: 1\n",
		"Chrome":              "Request URL:\nhttps://a.test/\nRequest Method:\nGET\nStatus Code:\n200 OK\nRemote Address:\n192.0.2.1:443\nx-ratelimit-limit:\n1\nx-empty:\n\nx-ratelimit-remaining:\n1\nx-ratelimit-window:\n1\n",
		"Chrome, its headers": "x-request-start:\nt:1\nx-ratelimit-limit:\n1\nResponse Headers\nx-ratelimit-remaining:\n1\nx-ratelimit-window:\n1\nx-end:",
		"Chrome of old":       "Request URL: https://a.test/\nRequest Method: GET\nStatus Code: 200 \nRemote Address: 192.0.2.1:443\nReferrer Policy: no-referrer\nx-ratelimit-limit: 1\nx-ratelimit-remaining: 1\nx-ratelimit-window: 1\n",
		"Chrome, of JSON":     "report-to:\n{\"group\": \"a\"}\nx-ratelimit-limit:\n1\nx-ratelimit-remaining:\n1\nx-ratelimit-window:\n1\n",
		"an empty one first":  "x-empty:\nx-ratelimit-limit: 1\nx-ratelimit-remaining: 1\nx-ratelimit-window: 1\n",
		"UTF-8 with a mark":   "\ufeffHTTP/2 200\nx-ratelimit-limit: 1\nx-ratelimit-remaining: 1\nx-ratelimit-window: 1\n",
		"UTF-16":              "\xff\xfe" + wide("HTTP/2 200\r\nx-ratelimit-limit: 1\r\nx-ratelimit-remaining: 1\r\nx-ratelimit-window: 1\r\n"),
		"folded":              "HTTP/1.1 200 OK\r\nX-RateLimit-Limit: 1\r\nX-RateLimit-Remaining: 1\r\nX-RateLimit-Policy:\r\n\t1;w=1\r\n",
		"a body of HTTP":      "HTTP/2 200\nx-ratelimit-limit: 1\nx-ratelimit-remaining: 1\nx-ratelimit-window: 1\n\nHTTP/ is a protocol\n",
	} {
		for _, args := range [][]string{nil, {"-"}} {
			if got, err := explained(t, nil, in, args...); err != nil || !strings.HasPrefix(got, one) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
}

// wide returns a text of ASCII in UTF-16, the lower byte first.
func wide(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		b.WriteByte(0)
	}
	return b.String()
}

// TestCached does not say that there is no limit where there is one that is not believed.
func TestCached(t *testing.T) {
	got, err := explained(t, nil, "HTTP/1.1 200 OK\nAge: 30\nX-RateLimit-Limit: 60\nX-RateLimit-Remaining: 59\n")
	if err != nil || !strings.HasPrefix(got, "A cache gave the answer.") || strings.Contains(got, "What says so") || !strings.Contains(got, "  Age: 30\n") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRedundant: what another header says already is understood, as GitHub's X-RateLimit-Used beside what is
// left.
func TestRedundant(t *testing.T) {
	const github = "HTTP/2 200\nx-ratelimit-limit: 60\nx-ratelimit-remaining: 59\nx-ratelimit-reset: 30\n"
	got, err := explained(t, nil, github+"x-ratelimit-used: 1\n")
	if err != nil || !strings.HasSuffix(got, "  X-Ratelimit-Used: 1\n      what is gone (the words of its name)\n") || strings.Contains(got, "Not understood") {
		t.Errorf("%q, %v", got, err)
	}
	got, err = explained(t, nil, github+"x-ratelimit-used: some\n")
	if err != nil || !strings.HasSuffix(got, "Not understood, though the name looks like one of a limit:\n  X-Ratelimit-Used: some\n") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPast tells an instant that has passed from a header that is not understood: an answer that was kept for a
// while has such resets.
func TestPast(t *testing.T) {
	const limit = "HTTP/2 200\nx-ratelimit-limit: 60\nx-ratelimit-remaining: 59\n"
	const noDate = "\n\nNot believed, since it has passed. The answer has no Date; if it is not a new one, put the line \"Date: …\" of when it came into its head:\n  X-Ratelimit-Reset: "
	for in, want := range map[string]string{
		limit + "x-ratelimit-reset: 1700000000\n":                                                noDate + "1700000000\n",
		limit + "x-ratelimit-reset: 1700000000000\n":                                             noDate + "1700000000000\n",
		limit + "x-ratelimit-reset: 2023-11-14T22:13:20Z\n":                                      noDate + "2023-11-14T22:13:20Z\n",
		limit + "x-ratelimit-reset: soon\n":                                                      "\n\nNot understood, though the name looks like one of a limit:\n  X-Ratelimit-Reset: soon\n",
		limit + "x-ratelimit-reset: 1700000000\nx-ratelimit-mood: grim\n":                        noDate + "1700000000\n\nNot understood, though the name looks like one of a limit:\n  X-Ratelimit-Mood: grim\n",
		limit + "date: Tue, 14 Nov 2023 22:13:50 GMT\nx-ratelimit-reset: 2023-11-14T22:13:20Z\n": "\n\nNot believed, since it had passed when the answer came (its Date):\n  X-Ratelimit-Reset: 2023-11-14T22:13:20Z\n",
	} {
		if got, err := explained(t, nil, in); err != nil || !strings.HasSuffix(got, want) || !strings.Contains(got, "What says so:\n") {
			t.Errorf("%q: %q, %v, want %q at its end", in, got, err, want)
		}
	}
	got, err := explained(t, nil, limit+"date: Tue, 14 Nov 2023 22:13:00 GMT\nx-ratelimit-reset: 1700000000\n")
	if err != nil || !strings.Contains(got, "It is restored in 20s, by 2023-11-14 22:13:20 UTC.") || strings.Contains(got, "Not ") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestSiblings names what belongs to a header that is read, as far as its name tells: who looks for the limit
// finds it.
func TestSiblings(t *testing.T) {
	const left = "HTTP/2 200\nx-acme-calls-left: 99\n"
	for in, want := range map[string]string{
		left + "x-acme-calls-max: 100\nx-acme-calls-renew: 30\n":                                              "\n\nNot understood, though the name looks like one of a limit:\n  X-Acme-Calls-Max: 100\n  X-Acme-Calls-Renew: 30\n",
		left + "x-acme-calls: 1\nx-acme-version: 3\nx-acme-calls-a-b: 1\nx-calls-max: 7\nacme-calls-max: 8\n": "\n\nNot understood, though the name looks like one of a limit:\n  Acme-Calls-Max: 8\n",
		"HTTP/2 200\nretry-after: 3\nretry-mood: grim\nretry-a-b: 1\n":                                        "\n\nNot understood, though the name looks like one of a limit:\n  Retry-A-B: 1\n  Retry-Mood: grim\n", // by the word retry
		"HTTP/2 200\nx-acme-calls-max: 100\nx-acme-calls-renew: 30\n":                                         "It states no limit.\n",
	} {
		if got, err := explained(t, nil, in); err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("%q: %q, %v, want %q at its end", in, got, err, want)
		}
	}
}

// TestYears does not have a server ask for a week that has asked for more.
func TestYears(t *testing.T) {
	for text, want := range map[string]string{
		"604799":         "It asks to wait for 167h59m59s before",
		"604801":         "It asks to wait for 7 days or longer before the next attempt: no longer wait is read.\n",
		"99999999999999": "It asks to wait for 7 days or longer before",
	} {
		if got, err := explained(t, nil, "HTTP/2 429\nretry-after: "+text+"\n"); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v, want %q in it", text, got, err, want)
		}
	}
}

// TestFarResets does not have a server state a month that has stated more.
func TestFarResets(t *testing.T) {
	for text, want := range map[string]string{
		"2678399": "It is restored in 743h59m59s, by",
		"2678401": "It is restored in 31 days or later: no later reset is read.\n",
		"2800000": "It is restored in 31 days or later: no later reset is read.\n",
	} {
		if got, err := explained(t, nil, "HTTP/2 200\nratelimit-limit: 9\nratelimit-remaining: 5\nratelimit-reset: "+text+"\n"); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v, want %q in it", text, got, err, want)
		}
	}
}

// TestLongWindow says days of a window that has some, and none of one that has other hours beside them.
func TestLongWindow(t *testing.T) {
	for seconds, want := range map[string]string{"2592000": " 9 requests in 30 days, of", "90000": " 9 requests in 25h0m0s, of"} {
		in := "HTTP/2 200\nratelimit: \"x\";r=5;t=7\nratelimit-policy: \"x\";q=9;w=" + seconds + "\n"
		if got, err := explained(t, nil, in); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v, want %q in it", seconds, got, err, want)
		}
	}
}

// TestElsewhere says where a redirect goes to, without what may be a secret in it.
func TestElsewhere(t *testing.T) {
	got, err := explained(t, nil, "HTTP/1.1 301 Moved\nLocation: https://u:secret@a.test/b?key=secret\n")
	if want := "The server sends elsewhere: 301, to a.test/b. That answer may say more.\nIt states no limit.\n"; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// TestHelp prints the usage, which is no error if it was asked for.
func TestHelp(t *testing.T) {
	for _, arg := range []string{"-h", "--help"} {
		if got, err := explained(t, nil, "", arg); err != nil || got != usage+"\n" {
			t.Errorf("%s: %q, %v", arg, got, err)
		}
	}
}

// TestHARLoosely reads what programs write that are no browsers: no times, or odd ones.
func TestHARLoosely(t *testing.T) {
	for _, when := range []string{``, `"startedDateTime":"02/03/2026 12:00","time":"1",`, `"startedDateTime":"2026-03-02T12:00:00Z","time":null,`} {
		in := `{"log":{"entries":[null,{` + when + `"request":{"url":"https://a.test/"},"response":{"status":200,"headers":[
			{"name":":status","value":"200"},{"name":"date","value":"Mon, 02 Mar 2026 12:00:00 GMT"},{"name":"x-ratelimit-remaining","value":"1"},{"name":"x-ratelimit-reset","value":"30"}]}}]}}`
		got, err := explained(t, nil, in)
		if err != nil || !strings.Contains(got, ": 1 request is left, and it is not said of how many. It is restored in 30s, by 2026-03-02 12:00:30 UTC.") {
			t.Errorf("%s: %q, %v", when, got, err)
		}
	}
}

// TestURL asks once, also if the answer is a redirect, and shows no secret.
func TestURL(t *testing.T) {
	script := &lab.Script{}
	script.Answers = append(script.Answers, lab.Status(302, "a body", "Location", "https://api.test/elsewhere", "X-RateLimit-Remaining", "5"))
	got, err := explained(t, script, "", "https://user:secret@api.test/a?key=secret")
	if err != nil || !strings.HasPrefix(got, "api.test/a\nThe server sends elsewhere: 302, to api.test/elsewhere. That answer may say more.\nA limit without a name: 5 requests are left, and it is not said of how many.") || strings.Contains(got, "secret") {
		t.Errorf("%q, %v", got, err)
	}
	if len(script.Got) != 1 {
		t.Errorf("%q was sent, want one request", script.Got)
	}
}

// TestHostile has control characters and what else a terminal obeys in all that others chose: none of it is
// printed.
func TestHostile(t *testing.T) {
	const evil = "\x1b[2J\x07\u202e\xff"
	for _, in := range []string{
		"HTTP/1.1 200 OK\r\nX-RateLimit-Mood: " + evil + "\r\nX-RateLimit-Limit: name=a" + evil + ",10\r\nX-RateLimit-Remaining: name=a" + evil + ",1\r\n",
		"HTTP/1.1 200 OK\r\nX-RateLimit-" + evil + ": 5\r\nX-RateLimit-Resource: " + evil + "\r\nX-RateLimit-Remaining: 1\r\n",
		"HTTP/1.1 200 OK\r\nRateLimit: \"" + evil + "\";r=1;t=5\r\nRateLimit-Policy: \"x\";q=1;qu=\"" + evil + "\"\r\n",
		"HTTP/1.1 200 OK\r\n" + evil + "\r\n", "HTTP/1.1 " + evil + "\r\n", `{"log":` + evil,
		`{"log":{"entries":[{"request":{"url":"https://a\u001b[2J.test/\u001b"},"response":{"headers":[{"name":"X-RateLimit-Remaining\u001b","value":"1\u001b"},{"name":"RateLimit","value":"limit=5, remaining=1"}]}}]}}`,
	} {
		got, err := explained(t, nil, in)
		if err != nil {
			got += err.Error()
		}
		if strings.ContainsAny(got, "\x1b\x07\u202e\r") || strings.Contains(got, "\xff") {
			t.Errorf("%q prints %q", in, got)
		}
	}
	_, err := explained(t, lab.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New(evil) }), "", "https://a.test/"+evil)
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\x07\u202e") {
		t.Errorf("%v", err)
	}
}

// TestErrors has clear words for what cannot be read.
func TestErrors(t *testing.T) {
	fails := lab.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	for _, tt := range []struct {
		in   string
		args []string
		want string
	}{
		{"", nil, "standard input: there is no answer in it\nusage: curl -sI URL | ratelimit"},
		{"\r\n\r\n", nil, "standard input: there is no answer in it\nusage:"},
		{"HTTP/1.1 200 OK\nno header\n", nil, "standard input: line 2 is neither a status nor a header: no header"},
		{"HTTP/1.1 what\n", nil, "standard input: line 1 has no status: HTTP/1.1 what"},
		{"{", nil, "standard input: is no HAR file: unexpected end of JSON input"},
		{"{}", nil, "standard input: is no HAR file: it has no log"},
		{`{"log":{"entries":[{}]}}`, nil, "standard input: none of its 1 answers says anything of limits"},
		{"", []string{"no/such/file"}, "open no/such/file: "},
		{"", []string{"api.a.test"}, "there is no file api.a.test; a URL begins with https://\nusage:"},
		{"", []string{"-x"}, "usage:"},
		{"", []string{"a", "b"}, "usage:"},
		{"", []string{"ftp://a.test/"}, "ftp://a.test/ is no URL of http or https"},
		{"", []string{"https://"}, "https:// is no URL of http or https"},
		{"", []string{"https://a.test/x?key=secret"}, "a.test/x: connection refused"},
	} {
		got, err := explained(t, fails, tt.in, tt.args...)
		if got != "" || err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q %q: %q, %v, want %q", tt.in, tt.args, got, err, tt.want)
		}
	}
}
