package throttle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/tree"
	"github.com/gopacer/pacer/throttle/store"
)

// Whatever keys are asked for, there are no more buckets than MaxBuckets, but for those in use: also if all are
// held or indebted. Those that were used last are kept.
func TestGroupMaxBuckets(t *testing.T) {
	for _, room := range []int{-1, 1, 100, 3 * tree.SweepFrom} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &Group{MaxBuckets: room, New: func(path []string) *Limiter {
					return &Limiter{Name: strings.Join(path, "/"), Quotas: quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}}
				}}
				flying, err := g.Limiter("flying").Acquire(t.Context(), Claim{})
				if err != nil {
					t.Fatal(err)
				}
				waits := g.Limiter("waits", "below")
				waits.Pause(10 * time.Hour)
				_, w := join(t, waits, Claim{})
				const inUse = 3 // flying, waits, waits/below
				last := ""
				for i := range 4 * tree.SweepFrom {
					last = fmt.Sprint(i)
					l := g.Limiter(last)
					if i%3 == 0 {
						l = g.Limiter(last, "below")
					}
					if i%2 == 0 {
						l.Pause(time.Hour)
					}
					for range 2 {
						grant, _ := l.Observe(Claim{})
						grant.Answered(Answer{}) // nothing is in flight
					}
					time.Sleep(time.Nanosecond)
					most := inUse + 2 + max(room, 0) // and the one that was asked for
					if n := g.buckets.Count(); n > most {
						t.Fatalf("%d buckets after %d, want %d at most", n, i, most)
					}
				}
				if flying.l.forgotten.Load() || waits.forgotten.Load() || gone(w) {
					t.Error("a bucket in use was forgotten")
				}
				if room > 2 && !strings.Contains(fmt.Sprint(buckets(g)), last) {
					t.Errorf("%s was used last, and is forgotten", last)
				}
				flying.Answered(Answer{})
				w.Leave()
			})
		})
	}
}

// Beyond MaxBuckets, what is idle is forgotten first, then what is only indebted, then what is held, each in
// the order in which it was used, and what is waited for or under way never.
func TestGroupForgetsTheLeastFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{MaxBuckets: 7, New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Rand: noJitter, Quotas: quota.Quotas{{N: 2, Per: time.Hour, Burst: 1}}}
		}}
		use := func(name string, a Answer) {
			grant, _ := g.Limiter(name).Observe(Claim{})
			grant.Answered(a)
			time.Sleep(time.Millisecond)
		}
		use("idle", Answer{})
		time.Sleep(time.Hour) // what was charged has come back
		use("waited for", Answer{})
		_, waits := join(t, g.Limiter("waited for"), Claim{})
		under, _ := g.Limiter("under way").Observe(Claim{})
		use("held", Answer{Refused: true, Hold: &quota.Hold{For: 30 * time.Minute}})
		use("used up", says(0, time.Hour))
		use("indebted", Answer{})
		var order []string
		before := buckets(g)
		for i := range 100 {
			use(fmt.Sprint("new ", i), Answer{Refused: true, Hold: &quota.Hold{For: time.Hour}})
			now := buckets(g)
			if len(now) > 7 {
				t.Fatalf("%d buckets: %q", len(now), now)
			}
			var gone []string
			for _, name := range before {
				if !slices.Contains(now, name) && !strings.HasPrefix(name, "new") {
					gone = append(gone, name)
				}
			}
			order, before = append(order, gone...), now
		}
		want := []string{"idle", "indebted", "held", "used up"}
		if !slices.Equal(order, want) {
			t.Errorf("forgotten %q, want %q", order, want)
		}
		if !slices.Contains(before, "waited for") || !slices.Contains(before, "under way") || gone(waits) {
			t.Errorf("left are %q", before)
		}
		under.Answered(Answer{})
		waits.Leave()
	})
}

// A crawl of ever new hosts, all of which refuse, fills no memory: there are 100,000 buckets at most, each of
// which weighs some 2 kB. What it costs to forget does not grow with how many there are: see TestFullIsRare of
// package tree. Usually, a tenth of that is tried; that 100,000 is the default is then for TestEffectiveValues
// of package check alone.
func TestGroupIsBoundedByDefault(t *testing.T) {
	room := whole.Or(10_000, 100_000)
	synctest.Test(t, func(t *testing.T) {
		g := &Group{MaxBuckets: whole.Or(room, 0)}
		held := g.Limiter("patient.example")
		held.Pause(time.Hour)
		start := time.Now()
		_, w := join(t, held, Claim{})
		for i := range room * 11 / 10 {
			l := g.Limiter(fmt.Sprint(i, ".example"))
			grant, _ := l.Observe(Claim{})
			grant.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 15 * time.Minute}})
			if n := g.buckets.Count(); n > room {
				t.Fatalf("%d buckets after %d", n, i)
			}
		}
		if n := g.buckets.Count(); n < room*8/10 {
			t.Errorf("%d buckets are left: the latest are wanted", n)
		}
		<-w.Ready()
		if took := time.Since(start); took != time.Hour {
			t.Errorf("who waited went after %v, want an hour", took)
		}
	})
}

// A program that loads and saves once a day, for 60 days or a year, and asks other hosts each day, has a file
// that does not grow: whatever the servers said, it is left out when it is out of date, and after a month in
// any case.
func TestGroupSavesForAYear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		var file bytes.Buffer
		counts, sizes := map[int]int{}, map[int]int{}
		days := whole.Or(60, 365) // a year takes seconds
		if *times > 1 {
			days = 365
		}
		for today := range days {
			g := &Group{New: func(path []string) *Limiter { return &Limiter{Name: path[0], Rand: noJitter, MaxHold: Forever} }}
			if today > 0 {
				if err := g.Load(&file); err != nil {
					t.Fatal(err)
				}
			}
			limit := func(in time.Duration) quota.Statement {
				return quota.Statement{Limit: 10, Remaining: 3, ResetKnown: in > 0, Reset: in, Name: "a", Counter: "b"}
			}
			for host, a := range map[string]Answer{
				"minute": {Statements: []quota.Statement{limit(time.Minute)}},
				"days":   {Statements: []quota.Statement{limit(3*day + time.Hour)}},
				"months": {Statements: []quota.Statement{limit(time.Minute), limit(90 * day)}},
				"years":  {Statements: []quota.Statement{limit(900 * day)}},
				"never":  {Statements: []quota.Statement{limit(0)}},
				"held":   {Refused: true, Hold: &quota.Hold{For: 400 * day}},
				"silent": {Refused: true},
			} {
				for _, split := range []string{"", "named"} {
					l := g.Limiter(fmt.Sprint(host, split, today))
					for i := range 6 {
						grant, _ := l.Observe(Claim{Verb: "GET", Path: "/" + strconv.Itoa(i)})
						answer := a
						if split != "" {
							answer.Counter = strconv.Itoa(i % 3)
						}
						if i%2 == 0 {
							answer.Refused, answer.Hold = false, nil
						}
						grant.Answered(answer)
						time.Sleep(100 * time.Millisecond)
					}
				}
			}
			file.Reset()
			if err := g.Save(&file); err != nil {
				t.Fatal(err)
			}
			var saved struct{ Buckets map[string]any }
			if err := json.Unmarshal(file.Bytes(), &saved); err != nil {
				t.Fatal(err)
			}
			counts[today], sizes[today] = len(saved.Buckets), file.Len()
			time.Sleep(day - time.Minute) // the days are not alike to the second
		}
		last := days - 1
		t.Log(counts[0], counts[31], counts[last], sizes[31], sizes[last])
		if counts[last] != counts[40] || counts[40] > 32*counts[0] {
			t.Errorf("%d buckets on the first day, %d after 40 days, %d after %d", counts[0], counts[40], counts[last], days)
		}
		if most := 300 * counts[last]; sizes[last] > most {
			t.Errorf("%d bytes, want %d at most", sizes[last], most)
		}
	})
}

// A program that uses ever new buckets does not save them for ever: what is out of date is dropped.
func TestGroupDropsWhatIsOutOfDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		saved := func(g *Group) (n int) {
			var b bytes.Buffer
			if err := g.Save(&b); err != nil {
				t.Fatal(err)
			}
			var file struct{ Buckets map[string]any }
			if err := json.Unmarshal(b.Bytes(), &file); err != nil {
				t.Fatal(err)
			}
			return len(file.Buckets)
		}
		pass := func(from *Group) *Group {
			var b bytes.Buffer
			to := &Group{}
			if err := errors.Join(from.Save(&b), to.Load(&b)); err != nil {
				t.Fatal(err)
			}
			return to
		}
		g := &Group{}
		grant(t, g.Limiter("window"), Claim{}).Answered(says(3, time.Minute))
		g.Limiter("held").Pause(2 * time.Minute)
		for n, after := range []time.Duration{time.Minute, time.Minute} {
			g = pass(g)
			if got := saved(g); got != 2-n {
				t.Errorf("%d buckets are saved, want %d", got, 2-n)
			}
			time.Sleep(after)
			if got := saved(g); got != 1-n {
				t.Errorf("%v later, %d buckets are saved, want %d", after, got, 1-n)
			}
		}
	})
}

// While no claim goes because several buckets change, none of them is forgotten.
func TestGroupForgetsNothingWhileItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(1)}
		l := g.Limiter("a", "x")
		thaw := l.Freeze()
		if l.Idle() {
			t.Error("to be forgotten")
		}
		g.sweepTwice()
		if l.forgotten.Load() {
			t.Error("forgotten")
		}
		thaw()
		if !l.Idle() {
			t.Error("not to be forgotten")
		}
	})
}

// Where the quotas of a Parent change so that those below it cannot live in their Stores any more, Update says so;
// and so it does for a tree that is made anew.
func TestGroupUpdateChecksStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		per := time.Second
		var shared store.Store = &store.Memory{}
		g := &Group{New: func(path []string) *Limiter {
			l := &Limiter{Name: strings.Join(path, "/"), Quotas: quota.Quotas{{N: 10, Burst: 1}}, Shared: Shared{Store: shared, SlotLife: time.Second}}
			if len(path) == 1 {
				l.Quotas[0].Per = per
			}
			return l
		}}
		g.Limiter("a", "x")
		if err := within.Update(g, func() bool { return false }); err != nil {
			t.Fatal(err)
		}
		err := within.Update(g, func() bool { per = time.Hour; return false })
		if err == nil || !strings.Contains(err.Error(), "above a/x with a Store too") {
			t.Errorf("got %v, want an error about what is above a/x", err)
		}
		shared = nil
		g.Limiter("b", "x")
		err = within.Update(g, func() bool { shared = &store.Memory{}; return false })
		if err == nil || !strings.Contains(err.Error(), "above b/x with a Store too") {
			t.Errorf("got %v, want an error about what is above b/x", err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A tree that is made anew still knows which claims the server counts on their own.
func TestGroupUpdateWithAStoreKeepsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		g := &Group{New: func(path []string) *Limiter {
			return &Limiter{Name: strings.Join(path, "/"), Shared: Shared{Store: shared}, Rand: noJitter}
		}}
		search, core := Claim{Verb: "GET", Path: "/search"}, Claim{Verb: "GET", Path: "/core"}
		for i, c := range []Claim{core, search} {
			grant, _ := g.Limiter("a").Observe(c)
			grant.Answered(remaining(c.Path[1:], 10*(1-i)))
		}
		if err := within.Update(g, func() bool { shared = &store.Memory{}; return false }); err != nil {
			t.Fatal(err)
		}
		// Of searches nothing remains. Their bucket is made when they are asked for.
		if f := g.Limiter("a").Forecast(search); f.Wait != time.Minute || f.Bucket != "a (search)" {
			t.Errorf("a search: %+v", f)
		}
		if f := g.Limiter("a").Forecast(core); f.Wait != 0 {
			t.Errorf("others: %+v", f)
		}
		if got, want := fmt.Sprint(buckets(g)), "[a a (core) a (search)]"; got != want {
			t.Errorf("buckets %s, want %s", got, want)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}
