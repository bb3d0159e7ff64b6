package learning

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// TestCountedAnswers: of answers that say the same but for what remains, State shows what remains after each of
// them; and what is else in an answer is seen at once if the answer is a refusal, and after 15 answers or 10 ms
// if the request was served.
func TestCountedAnswers(t *testing.T) {
	for name, header := range map[string]func(left int) []string{
		"a trio": func(left int) []string {
			return []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", strconv.Itoa(left), "X-RateLimit-Reset", "3600", "Server", "x"}
		},
		"GitHub": func(left int) []string {
			return []string{
				"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", strconv.Itoa(left), "X-RateLimit-Reset", "3600", "X-RateLimit-Used", strconv.Itoa(5000 - left),
				"X-RateLimit-Resource", "core", "Server", "x",
			}
		},
		"draft 8": func(left int) []string {
			return []string{"RateLimit-Policy", `"default";q=5000;w=3600`, "RateLimit", fmt.Sprintf(`"default";r=%d;t=3600`, left), "Server", "x"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left, limit := 5000, "5000"
				tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					left--
					h := header(left)
					if limit != "5000" && h[0] == "X-RateLimit-Limit" {
						h[1] = limit
					}
					return lab.Answer(r, 200, "", h...), nil
				})}
				c := &http.Client{Transport: tr}
				stated := func() (most, remains int) {
					for _, l := range tr.State()[0].Limits {
						most, remains = int(l.Limit), int(l.Available)
					}
					return most, remains
				}
				for i := range 300 {
					if i%50 == 49 {
						time.Sleep(11 * time.Millisecond)
					}
					lab.Get(t, c, "http://a.example/")
					if most, remains := stated(); most != 5000 || remains != left {
						t.Fatalf("answer %d: %d of %d remain, want %d of 5000", i, remains, most, left)
					}
				}
				if name == "a trio" {
					limit = "4990"
					missed := 0
					for ; missed < 100; missed++ {
						if lab.Get(t, c, "http://a.example/"); func() bool { most, _ := stated(); return most == 4990 }() {
							break
						}
					}
					if missed > 15 {
						t.Errorf("another limit was missed in %d answers, want 15 at most", missed)
					}
				}
				left = 1 // others have used it
				lab.Get(t, c, "http://a.example/")
				if _, remains := stated(); remains != 0 {
					t.Errorf("%d remain, want none", remains)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				left, refuse := 5000, false
				tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					if refuse {
						refuse = false
						return lab.Answer(r, 429, "", append(header(left), "Retry-After", "3")...), nil
					}
					left--
					return lab.Answer(r, 200, "", header(left)...), nil
				})}
				c := &http.Client{Transport: tr}
				for range 100 {
					lab.Get(t, c, "http://a.example/")
				}
				refuse = true
				begin := time.Now()
				lab.Get(t, c, "http://a.example/")
				if d := time.Since(begin); d != 3*time.Second {
					t.Errorf("after a refusal the request was served in %v, want 3s", d)
				}
			})
		})
	}
}
