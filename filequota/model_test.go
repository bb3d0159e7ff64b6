package filequota

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// oldDir has a directory be one that was there before.
func oldDir(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "news"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// opened opens a Store whose clock is that of the bubble, which began at start.
func opened(t *testing.T, dir string, start time.Time) *Store {
	t.Helper()
	oldDir(t, dir)
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.clock = func() reading {
		return reading{now: time.Since(start), wall: time.Now().UnixNano(), boot: bootID{1}}
	}
	s.watch = func(string) watcher { return newPoller() } // a bubble does not wait for inotify
	return s
}

// user is a member of a random history.
type user struct {
	name   string
	serial int64
	has    []store.Part
	sent   *store.Request
}

func pause(r *rand.Rand) time.Duration {
	d := time.Duration(r.IntN(100)) * time.Millisecond
	switch r.IntN(8) {
	case 0:
		return 0
	case 1:
		return 5 * d
	case 2:
		return d + time.Duration(r.IntN(1000))*time.Microsecond
	case 3:
		return 20 * d
	}
	return d / 4
}

func cost(r *rand.Rand, quotas quota.Quotas) []int64 {
	c := make([]int64, len(quotas))
	for i, q := range quotas {
		c[i] = int64(r.IntN(int(min(max(q.Burst, 1), 4) + 1)))
		if q.Kind != quota.TokenBucket || q.Debt {
			c[i] = int64(r.IntN(1 + min(int(q.N), 1+r.IntN(12))))
		}
	}
	return c
}

func (u *user) request(r *rand.Rand, quotas quota.Quotas) store.Request {
	if u.sent != nil && r.IntN(10) == 0 {
		return *u.sent // once more
	}
	if r.IntN(5) > 0 {
		u.serial++ // else as if the last one had failed
	}
	u.serial = max(u.serial, 1)
	req := store.Request{
		Version: 1, Bucket: "api", Quotas: quotas, SlotLife: time.Duration(20+r.IntN(12)/11*15) * time.Millisecond, Horizon: 500 * time.Millisecond,
		Member: u.name, Serial: u.serial, Hand: make([]int64, len(quotas)),
	}
	for r.IntN(2) == 0 && len(u.has) > 0 {
		i := r.IntN(len(u.has))
		req.Back = append(req.Back, store.Part{Slot: u.has[i].Slot, Cost: slices.Clone(u.has[i].Cost)})
		u.has = slices.Delete(u.has, i, i+1)
	}
	for _, p := range u.has {
		for k := range p.Cost {
			req.Hand[k] += p.Cost[k]
		}
	}
	switch r.IntN(12) {
	case 0:
		req.More = cost(r, quotas)
	case 1:
		req.Hold = time.Duration(r.IntN(300)) * time.Millisecond
	case 2:
		req.Leave = true
		return req
	case 5:
		req.Ahead = time.Duration(r.IntN(2000)) * time.Millisecond
	case 8:
		req.Release = true
	case 6, 7:
		req.Outage = r.IntN(2) == 0
		for range r.IntN(6) {
			req.Own = append(req.Own, store.Own{In: time.Duration(r.IntN(2000)-1500) * time.Millisecond, Cost: cost(r, quotas)})
		}
	case 3, 4:
		req.Statements = append(req.Statements, quota.Statement{
			Name: string(rune('a' + r.IntN(3))), Limit: 10, Remaining: int64(r.IntN(10)),
			Reset: time.Duration(r.IntN(5000)) * time.Millisecond, ResetKnown: r.IntN(4) > 0, Resolution: []time.Duration{0, time.Millisecond, time.Second}[r.IntN(3)],
		})
	}
	req.GoesOn = r.IntN(2) == 0
	for range r.IntN(4) {
		req.Asks = append(req.Asks, store.Ask{Cost: cost(r, quotas), Count: 1 + r.IntN(8), Within: time.Duration(r.IntN(600)-1) * time.Millisecond})
	}
	return req
}

// kinds are quotas of all kinds.
var kinds = []string{
	"100/s even", "100/s burst 20", "60/2s log", "60/2s sliding", "60/2s window", "60/2s window grid", "60/2s estimate", "5/s burst 3, 100/m log",
}

// TestStoreAgainstModel: processes that share a directory get the answers of a store.Memory that they would
// share, also if some know nothing of what is in the file, or if it was lost.
func TestStoreAgainstModel(t *testing.T) {
	for _, text := range kinds {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%s seed %d", text, seed), func(t *testing.T) {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, 1))
					time.Sleep(time.Duration(r.IntN(1e6)) * time.Microsecond)
					against(t, r, dir, quota.MustParse(text).Explicit(), seed%2 == 1)
				})
			})
		}
	}
}

func against(t *testing.T, r *rand.Rand, dir string, quotas quota.Quotas, lost bool) {
	t.Helper()
	start := time.Now()
	model := new(store.Memory)
	var told store.News
	if _, err := model.Listen("api", func(n store.News) { told = n }); err != nil {
		t.Fatal(err)
	}
	if lost {
		model.Lose()
		if err := os.WriteFile(filepath.Join(dir, fileName("api")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stores := make([]*Store, 3)
	users := make([]user, 1+r.IntN(4))
	versions := []quota.Quotas{quotas, slices.Clone(quotas)} // a new one is rolled out
	for i := range quotas {
		versions[1][i].N /= 2
	}
	for step := range 60 {
		if step > 0 {
			time.Sleep(pause(r))
		}
		u := &users[r.IntN(len(users))]
		if u.name == "" {
			*u = user{name: fmt.Sprintf("m%d", step)}
		}
		req := u.request(r, versions[r.IntN(8)/7])
		told = store.News{}
		before := peek(filepath.Join(dir, fileName("api")))
		want, err := model.Exchange(t.Context(), &req)
		if err != nil {
			t.Fatal(err)
		}
		i := r.IntN(len(stores))
		if stores[i] == nil || r.IntN(5) == 0 {
			stores[i] = opened(t, dir, start)
		}
		got, err := stores[i].Exchange(t.Context(), &req)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("step %d, %v after the start, %+v:\n got %+v\nwant %+v", step, time.Since(start), req, got, want)
		}
		// What the header tells those who listen.
		h := peek(filepath.Join(dir, fileName("api")))
		tells := store.News{Room: h.room != before.room, Lost: h.lost != before.lost, Released: h.released != before.released}
		if h.hold != before.hold && h.hold > h.now {
			tells.Hold = told.Hold
		}
		if h.came != before.came {
			tells.Sharing = int(h.sharing)
		}
		if h.far != before.far {
			tells.Ahead = h.end - h.now
		}
		if tells != told {
			t.Fatalf("step %d, %v after the start, %+v:\nthe file tells %+v\nwant           %+v", step, time.Since(start), req, tells, told)
		}
		u.sent = &req
		for _, s := range got.Slots {
			c := slices.Clone(req.Asks[s.Ask].Cost)
			for k := range c {
				c[k] *= int64(s.Count)
			}
			u.has = append(u.has, store.Part{Slot: s.ID, Cost: c})
		}
		if req.Leave {
			*u = user{}
		}
	}
}

// peek returns the newest header of a file.
func peek(path string) header {
	h, _ := new(Store).peek(path)
	return h
}
