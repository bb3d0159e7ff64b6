package pacing

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

// TestGitHubsQuotaAsDocumentedFailsNobody: of 200 requests at once, each with a timeout of 30 s, none fails,
// whether the documented quota is told or not, and alone or beside another; and telling it costs no time.
func TestGitHubsQuotaAsDocumentedFailsNobody(t *testing.T) {
	took := map[string]time.Duration{}
	for _, text := range []string{"", "5000/h", "100/s, 5000/h", "5000/h, 100 in flight"} {
		synctest.Test(t, func(t *testing.T) {
			server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 5000, Window: time.Hour}, pacertest.XRateLimit)
			server.Latency = 20 * time.Millisecond
			defer server.Close()
			tr := &pacer.Transport{Base: lab.Direct(server), Quotas: pacer.Table{"api.github.com/": quota.MustParse(text)}}
			client := &http.Client{Transport: tr, Timeout: 30 * time.Second}
			start := time.Now()
			var wait sync.WaitGroup
			for range 200 {
				wait.Go(func() {
					resp, err := client.Get("https://api.github.com/user")
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
				})
			}
			wait.Wait()
			took[text] = time.Since(start)
		})
	}
	if took["5000/h"] != took[""] || took["5000/h, 100 in flight"] > took[""]+20*time.Millisecond {
		t.Errorf("took %v: told, it takes longer than untold", took)
	}
}

// TestTokensAMinuteGoAtOnce: a cost is as large as the quota, without a further word.
func TestTokensAMinuteGoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server pacertest.Server
		defer server.Close()
		tr := &pacer.Transport{Base: lab.Direct(&server), Cost: lab.NoCost, Quotas: pacer.Table{"/": quota.MustParse("500/m, 30000 tokens/m, 1MiB/s")}}
		start := time.Now()
		for _, cost := range []int{1, 29_999, 30_000} {
			ctx := pacer.WithCall(context.Background(), &pacer.Call{Costs: quota.Costs{"tokens": int64(cost)}})
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if got := time.Since(start); got != time.Minute {
			t.Errorf("60000 tokens took %v, want a minute", got)
		}
	})
}

// TestAPlainQuotaHoldsWhereTheServerTalksNonsense: a server which says with every answer that nothing remains,
// and that the limit is restored in a moment, is not believed in place of the quota.
func TestAPlainQuotaHoldsWhereTheServerTalksNonsense(t *testing.T) {
	for _, reset := range []string{"0s", "0ms", "1ms", "10ms"} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var window time.Time
			used, refused := 0, 0
			base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				status := http.StatusOK
				if time.Since(window) >= 10*time.Second {
					window, used = time.Now(), 0
				}
				if used++; used > 100 {
					status = http.StatusTooManyRequests
					refused++
				}
				mu.Unlock()
				time.Sleep(50 * time.Millisecond)
				return lab.Answer(req, status, "", "X-RateLimit-Limit-Requests", "100", "X-RateLimit-Remaining-Requests", "0",
					"X-RateLimit-Reset-Requests", reset), nil
			})
			tr := &pacer.Transport{Base: base, Quotas: pacer.Table{"/": quota.MustParse("100/10s")}, Rand: lab.Zero}
			var wait sync.WaitGroup
			for range 400 {
				wait.Go(func() { lab.Get(t, &http.Client{Transport: tr}, "https://a.example/") })
			}
			wait.Wait()
			if refused > 0 {
				t.Errorf("reset %s: %d refused", reset, refused)
			}
		})
	}
}

// TestMaxWaitDoesNotSpreadAQuota: a minute is not longer than MaxStandstill, so all may go at once.
func TestMaxWaitDoesNotSpreadAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, MaxWait: 10 * time.Second, Quotas: pacer.Table{"/": quota.MustParse("100/m")}}
		start := time.Now()
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() { lab.Get(t, &http.Client{Transport: tr}, "http://h.example/") })
		}
		wait.Wait()
		if len(base.Got) != 100 || time.Since(start) > time.Second {
			t.Errorf("%d in %v, want 100 at once", len(base.Got), time.Since(start))
		}
	})
}

// TestQuotaOfAHostBesideWhatRoutesState: the server counts each channel, and says so, or has one limit for each
// user with the same numbers. The quota of the host, of which it says nothing, holds for all of them together.
// Where the server has no name for the channels, the numbers of two of them agree by chance in one of a hundred
// worlds, if answers overtake each other. Then they look like one counter, which is that of the host, and a few
// more go than the host's quota.
func TestQuotaOfAHostBesideWhatRoutesState(t *testing.T) {
	for _, name := range []string{"X-RateLimit-Bucket", "X-Unknown"} {
		for _, quotas := range []pacer.Table{
			{"h.example/": quota.MustParse("10/m"), "h.example/channels/{id}": quota.MustParse("10/m")},
			{"h.example/": quota.MustParse("10/m"), "h.example/channels/{id}": quota.MustParse("100/m")},
		} {
			const worlds = 5
			over, mostOver := 0, 0
			if name == "X-Unknown" {
				mostOver = 2
			}
			for range worlds {
				if sent := sentToChannels(t, name, quotas); sent > 10 {
					t.Logf("%s, %v: %d in 59 s, want 10", name, quotas, sent)
					over++
				}
			}
			if over > mostOver {
				t.Errorf("%s, %v: over in %d worlds of %d, want %d at most", name, quotas, over, worlds, mostOver)
			}
		}
	}
}

// sentToChannels returns how many requests go within 59 s to three channels of a server that counts each by
// itself.
func sentToChannels(t *testing.T, name string, quotas pacer.Table) (n int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // protects used and sent
		used, sent := map[string]int{}, 0
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			sent++
			used[req.URL.Path]++
			return lab.Answer(req, 200, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", strconv.Itoa(10-used[req.URL.Path]), "X-RateLimit-Reset-After", "50", name, req.URL.Path), nil
		})
		tr := &pacer.Transport{Base: base, Quotas: quotas}
		for i := range 30 {
			go func() {
				if resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://h.example/channels/"+strconv.Itoa(i%3), "")); err == nil {
					resp.Body.Close()
				}
			}()
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		mu.Lock()
		n = sent
		mu.Unlock()
		time.Sleep(time.Hour)
	})
	return n
}

// TestAPlainQuotaBesideATokenBucket: a server that is seen to restore its limit bit by bit is not believed, as
// docs/quotas.md says, so that no minute has more than 60. Who tells the burst waits for no more than the
// server asks for.
func TestAPlainQuotaBesideATokenBucket(t *testing.T) {
	algorithm := &pacertest.TokenBucket{Rate: 1, Burst: 60}
	for text, most := range map[string]time.Duration{"60/m": 3 * time.Minute, "60/m burst 60": 141 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			server := pacertest.NewServer(algorithm, pacertest.XRateLimit)
			defer server.Close()
			client := &http.Client{Transport: &pacer.Transport{Base: lab.Direct(server), Quotas: pacer.Table{"/": quota.MustParse(text)}}}
			start := time.Now()
			for range 200 {
				resp, err := client.Get("https://api.example.com/items")
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
			took, least := time.Since(start), pacertest.Least(algorithm, start, 200)
			if took > most || text == "60/m" && took != most || server.Stats().Refused != 0 {
				t.Errorf("%s: took %v of at least %v, and %d were refused, want %v", text, took, least, server.Stats().Refused, most)
			}
		})
	}
}
