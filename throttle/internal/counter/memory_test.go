package counter

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// told has a Router hear answers to requests that go one after the other, each of a path and a limit.
func told(r *Router, now *monotime.Time, heard *uint64, path string, limit, remaining int, reset time.Duration) Change {
	sent := *now
	*now, *heard = now.Add(10*time.Millisecond), *heard+2
	return r.Hear("GET", path, &Answer{
		Granted: *heard - 1, Heard: *heard, Sent: sent, Now: *now, N: 1,
		Statements: []quota.Statement{{Limit: int64(limit), Remaining: int64(remaining), Reset: reset, ResetKnown: true, Resolution: time.Millisecond, Window: time.Minute}},
	})
}

// kept returns a Router that begins with what r knows, through JSON.
func kept(t *testing.T, r *Router, now monotime.Time, clock *monotime.Clock) *Router {
	t.Helper()
	text, err := json.Marshal(r.Memory(now, clock, func(name string) string { return fmt.Sprintf("key %d", len(name)) }))
	var m *Memory
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "users") {
		t.Errorf("a path stands in %s", text)
	}
	return m.Router(now, clock)
}

// TestMemoryOfRoutes: routes that were told apart are told apart from the beginning, and have their keys; so
// they are if a run in between has not met them.
func TestMemoryOfRoutes(t *testing.T) {
	var clock monotime.Clock
	clock.Start()
	now, heard := monotime.Time(time.Hour), uint64(0)
	r := New("")
	for i := range 20 {
		told(r, &now, &heard, fmt.Sprintf("/users/%d", 1000+i), 10, 9-i%10, time.Minute)
		told(r, &now, &heard, "/search", 1000, 999-i, time.Minute)
	}
	if !r.Split() || r.Of("GET", "/users/1") == r.Of("GET", "/search") {
		t.Fatal("the routes are not told apart")
	}
	again := kept(t, r, now, &clock)
	unused := kept(t, again, now, &clock)
	for _, r := range []*Router{again, unused} {
		users, search := r.Of("GET", "/users/77"), r.Of("GET", "/search")
		if !r.Split() || users == search || r.Key(users) == "" || !strings.HasPrefix(r.Key(search), "key ") || r.Key(users) == r.Key(search) {
			t.Errorf("%q has the key %q, and %q the key %q", users, r.Key(users), search, r.Key(search))
		}
		if got := r.Of("GET", "/users/78"); got != users {
			t.Errorf("another user counts as %q, want %q", got, users)
		}
		if c := told(r, &now, &heard, "/search", 1000, 500, time.Minute); c.Counter != search || len(c.Left) > 0 {
			t.Errorf("an answer is of %q (%v left), want %q", c.Counter, c.Left, search)
		}
		if got := r.Of("POST", "/new"); got == users || got == search || got == "" || r.Key(got) != "" {
			t.Errorf("a route that nobody knows counts as %q", got)
		}
	}
}

// TestMemoryOfInstances: instances that were found are known from the beginning, with what is left of each.
func TestMemoryOfInstances(t *testing.T) {
	var clock monotime.Clock
	clock.Start()
	now, heard := clock.Now(), uint64(0)
	begin := now
	of := func(r *Router, i int) Change { // two, whose windows end 20 seconds apart
		return told(r, &now, &heard, "/a", 50, 40-i, begin.Add(time.Duration(40+20*(i%2))*time.Second).Sub(now))
	}
	r := New("")
	var c Change
	for i := range 20 {
		c = of(r, i)
	}
	if c.Instances == nil {
		t.Fatal("no instances are found")
	}
	r = kept(t, r, now, &clock)
	if c = of(r, 21); r.Split() || len(c.Instances) != 1 || c.Instances[0].Remaining != 19 {
		t.Errorf("the first answer of a later run says %+v, want instances, and 19 that remain", c.Instances)
	}
	if one := New(""); one.Memory(now, &clock, nil) != nil || kept(t, one, now, &clock) != nil {
		t.Error("what knows nothing is kept")
	}
}

// TestMemoryIsBounded: whatever stands in a file, no more is remembered than without it.
func TestMemoryIsBounded(t *testing.T) {
	var clock monotime.Clock
	clock.Start()
	now := clock.Now()
	m := &Memory{Name: strings.Repeat("x", maxText)}
	for i := range 1000 {
		c := Known{Key: strings.Repeat("k", 1000), Limit: int64(-i), Instances: true}
		for j := range 10 {
			c.Leaves = append(c.Leaves, fmt.Sprint(i, j))
			c.Slots = append(c.Slots, SlotMemory{Early: time.Unix(-1<<50, 0), Late: time.Unix(1<<50, 0), Remaining: -1})
		}
		m.Counters, m.Full = append(m.Counters, c), append(m.Full, strings.Repeat("f", i))
	}
	r := m.Router(now, &clock)
	if len(r.before) > maxLeaves || len(r.fullBefore) > maxLeaves {
		t.Errorf("%d leaves and %d full places", len(r.before), len(r.fullBefore))
	}
	heard := uint64(0)
	for i := range 400 {
		told(r, &now, &heard, fmt.Sprintf("/p%d/q", i), 10+i%7, 5, time.Minute)
	}
	again := r.Memory(now, &clock, func(string) string { return "" })
	leaves := 0
	for _, c := range again.Counters {
		leaves += len(c.Leaves)
	}
	if len(r.leaves) > maxLeaves || len(r.counters) > maxCounters || len(again.Counters) > maxCounters || leaves > 2*maxLeaves || len(again.Full) > maxLeaves {
		t.Errorf("%d leaves, %d counters; %d, %d and %d are kept", len(r.leaves), len(r.counters), leaves, len(again.Counters), len(again.Full))
	}
	for _, bad := range []*Memory{nil, {}, {Name: strings.Repeat("x", maxText+1), Counters: m.Counters}, {Counters: []Known{{}}}} {
		if got := bad.Router(now, &clock); got != nil {
			t.Errorf("%+v is taken over as %+v", bad, got)
		}
	}
	if !reflect.DeepEqual((&Memory{}).Router(now, &clock), (*Router)(nil)) {
		t.Error("an empty memory is a Router")
	}
}
