package pacing

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// notModifiedIsFree is a Spent for servers that do not count a 304.
func notModifiedIsFree(resp *http.Response) quota.Costs {
	if resp.StatusCode == http.StatusNotModified {
		return quota.Costs{quota.Requests: 0}
	}
	return nil
}

// A request that Spent says has cost nothing is given back as of the instant at which it went: of any kind of
// quota, who comes next goes when it would have gone if the request had never been.
func TestWhatDoesNotCountIsGivenBack(t *testing.T) {
	for _, text := range []string{
		"5/m", "100/m", "5/m burst 5", "5/m burst 2", "5/m even", "5/m window", "5/m window grid", "5/m log", "5/m sliding", "5/m estimate",
		"5/d window grid in Asia/Tokyo", "5/month", "5/m, 5 in flight",
	} {
		seeds := whole.Or[uint64](5, 10)
		if strings.HasPrefix(text, "5/d") || strings.HasPrefix(text, "5/month") {
			seeds = 1 // which take long: of a wait, no timer lasts for more than half a minute
		}
		for seed := range seeds {
			t.Run(fmt.Sprint(text, seed), func(t *testing.T) {
				// play sends requests one after the other, and returns when each that counts went; those that
				// do not count only if told so.
				play := func(uncounted bool) (went []time.Duration) {
					synctest.Test(t, func(t *testing.T) {
						r := rand.New(rand.NewPCG(seed, 4))
						start, free := time.Now(), false
						tr := &pacer.Transport{
							Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
								if free {
									return lab.Answer(req, http.StatusNotModified, ""), nil
								}
								went = append(went, time.Since(start))
								return lab.Answer(req, 200, ""), nil
							}),
							Quotas: lab.All(quota.MustParse(text)...), Spent: notModifiedIsFree, MaxStandstill: 40 * 24 * time.Hour, Learn: pacer.Learn{Spend: throttle.SpendEager},
						}
						for range 12 {
							time.Sleep(time.Duration(r.Int64N(int64(10 * time.Second))))
							for range r.IntN(4) {
								if !uncounted {
									continue
								}
								// What goes at once, and does not count, must not delay what comes next.
								free = true
								if tr.State() == nil || tr.State()[0].Next.Wait == 0 {
									lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
								}
								free = false
							}
							lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
						}
					})
					return went
				}
				with, without := play(true), play(false)
				if fmt.Sprint(with) != fmt.Sprint(without) {
					t.Errorf("beside requests that do not count, others go at\n%v, without them at\n%v", with, without)
				}
			})
		}
	}
}

// GitHub's 304s do not count. What its headers say is then learned as if they had not been sent: the limit
// comes back at the reset, and not bit by bit, however many answers leave Remaining as it is.
func TestWhatDoesNotCountIsNoRefill(t *testing.T) {
	for _, spent := range []func(*http.Response) quota.Costs{nil, notModifiedIsFree} {
		synctest.Test(t, func(t *testing.T) {
			const limit = 60
			reset, remaining, refused, r := time.Now().Add(time.Hour), limit, 0, rand.New(rand.NewPCG(0, 5))
			tr := &pacer.Transport{Spent: spent, MaxStandstill: 2 * time.Hour, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if !time.Now().Before(reset) {
					reset, remaining = reset.Add(time.Hour), limit
				}
				code := 200
				switch {
				case req.Header.Get("If-None-Match") != "":
					code = http.StatusNotModified
				case remaining == 0:
					code = http.StatusForbidden
					refused++
				default:
					remaining--
				}
				return lab.Answer(req, code, "", "X-RateLimit-Limit", strconv.Itoa(limit), "X-RateLimit-Remaining", strconv.Itoa(remaining),
					"X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10)), nil
			})}
			start := time.Now()
			for range 2 * limit {
				for range r.IntN(5) {
					req := lab.Request(t, "GET", "http://a.example/", "")
					req.Header.Set("If-None-Match", `"a"`)
					resp, err := tr.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
				}
				lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
				for _, l := range tr.State()[0].Limits {
					if l.Rate > 0 {
						t.Fatalf("taken for a refill: %+v", l)
					}
				}
			}
			if took := time.Since(start); took < time.Hour || took > time.Hour+2*time.Second || refused > 4 { // one each quarter of an hour: see MaxHold
				t.Errorf("took %v, with %d refused", took, refused)
			}
		})
	}
}

// Each attempt is paid for by what its own answer says: a provider that does not count its failures gives them
// back.
func TestFailuresThatDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base:   &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(502, ""), lab.Status(503, ""), lab.Status(200, "")}},
			Quotas: lab.All(lab.Budget(10)),
			Spent: func(resp *http.Response) quota.Costs {
				if resp.StatusCode >= 500 {
					return quota.Costs{quota.Requests: 0}
				}
				return nil
			},
		}
		lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		if n := lab.State(t, tr, "a.example").Limits[0].Available; n != 9 {
			t.Errorf("%d of 10 are left after two failures and an answer, want 9", n)
		}
	})
}
