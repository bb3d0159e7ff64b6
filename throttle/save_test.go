package throttle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
)

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

// What was learned is there in the next run, under digests of paths.
func TestGroupSaveAndLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &Group{New: perSecond(100)}
		grant, err := one.Limiter("a", "secret").Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		grant.Answered(Answer{Statements: []quota.Statement{{Limit: 10, Remaining: 0, Reset: time.Minute, ResetKnown: true}}})
		var saved bytes.Buffer
		if err := one.Save(&saved); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(saved.String(), "secret") {
			t.Errorf("%s has a key", saved.String())
		}
		two := &Group{New: perSecond(100)}
		if err := two.Load(bytes.NewReader(saved.Bytes())); err != nil {
			t.Fatal(err)
		}
		// What there was no use for yet is saved again.
		var again bytes.Buffer
		if err := two.Save(&again); err != nil || again.String() != saved.String() {
			t.Errorf("%v: got %s, want %s", err, again.String(), saved.String())
		}
		if f := two.Limiter("a", "other").Forecast(Claim{}); f.Wait != 0 {
			t.Errorf("another path waits %v", f.Wait)
		}
		if f := two.Limiter("a", "secret").Forecast(Claim{}); f.Wait != time.Minute {
			t.Errorf("waits %v, want 1m", f.Wait)
		}
	})
}

// What nobody has asked for yet outlives another Load.
func TestGroupLoadsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(100)}
		for i, key := range []string{"a", "b"} {
			from := &Group{New: perSecond(100)}
			grant, _ := from.Limiter(key).Acquire(t.Context(), Claim{})
			grant.Answered(remaining("", 10+i))
			var saved bytes.Buffer
			if err := errors.Join(from.Save(&saved), g.Load(&saved)); err != nil {
				t.Fatal(err)
			}
		}
		for i, key := range []string{"a", "b"} {
			if ws := g.Limiter(key).State().Limits; len(ws) != 2 || ws[1].Available != 10+int64(i) {
				t.Errorf("%s knows %+v, want that %d are available", key, ws, 10+i)
			}
		}
	})
}

// Nothing is missing in what is saved while buckets are made.
func TestGroupSavesWhileBucketsAreMade(t *testing.T) {
	const n = 300
	from := &Group{New: perSecond(100)}
	for i := range n {
		grant, _ := from.Limiter(fmt.Sprint(i)).Acquire(t.Context(), Claim{})
		grant.Answered(remaining("", 10))
	}
	var saved bytes.Buffer
	if err := from.Save(&saved); err != nil {
		t.Fatal(err)
	}
	g := &Group{New: perSecond(100)}
	if err := g.Load(bytes.NewReader(saved.Bytes())); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			g.Limiter(fmt.Sprint(i))
		}
	})
	for range 20 {
		var again bytes.Buffer
		if err := g.Save(&again); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(again.String(), `"windows"`); got != n {
			t.Fatalf("saved %d buckets, want %d", got, n)
		}
	}
	wg.Wait()
}

// What was learned in one bucket is not taken for that of another, whatever is in their keys.
func TestGroupSavesEachPathByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(100)}
		l := g.Limiter("a")
		for i, name := range []string{"x", "y"} { // both get a bucket below a
			grant, _ := l.Observe(Claim{Verb: "GET", Path: "/" + name})
			grant.Answered(remaining(name, 1-i))
		}
		paths := [][]string{{"a"}, {"a", "b"}, {"a\x00b"}, {`a" "b`}, {"a", "x"}, {"a", "x true"}, {"a x"}, {""}, {"", ""}}
		seen := map[string]string{}
		for _, path := range paths {
			g.Limiter(path...)
		}
		for _, n := range g.snapshot() {
			l := n.Value
			if other, ok := seen[l.node.Digest()]; ok {
				t.Errorf("%q and %s have one digest", l.node.Path(), other)
			}
			seen[l.node.Digest()] = fmt.Sprintf("%q", l.node.Path())
		}
		if want := len(paths) + 2; len(seen) != want {
			t.Errorf("%d buckets, want %d", len(seen), want)
		}
	})
}

func TestGroupSaveAndLoadErrors(t *testing.T) {
	var g Group
	if err := g.Save(badWriter{}); !errors.Is(err, errBad) {
		t.Errorf("got %v, want %v", err, errBad)
	}
	if err := g.Load(badWriter{}); !errors.Is(err, errBad) {
		t.Errorf("got %v, want %v", err, errBad)
	}
	for _, text := range []string{"", "{", `{"version": 2}`, `{"version": 1, "buckets": 1}`} {
		if err := g.Load(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "throttle: load: ") {
			t.Errorf("%q: got %v", text, err)
		} else if later := text == `{"version": 2}`; errors.Is(err, errors.ErrUnsupported) != later {
			t.Errorf("%q: got %v, of a later version: %v", text, err, later)
		}
	}
}
