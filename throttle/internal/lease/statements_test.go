package lease

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestToldThroughOutage: what could not be told is told later, the latest word of each limit once,
// and a long outage does not make it more.
func TestToldThroughOutage(t *testing.T) {
	var told statements
	say := func(name, remaining int) {
		told.add(1, quota.Statement{Name: fmt.Sprint(name), Remaining: int64(remaining), Reset: time.Minute, ResetKnown: true})
	}
	for call := range 100 {
		for name := range 3 {
			say(name, 1000-call)
		}
		told.send(1)
		say(0, 500-call) // while the call is under way
		told.failed()
	}
	got := told.send(monotime.Time(time.Second) + 1)
	if len(got) != 3 || got[0].Remaining != 401 || got[1].Remaining != 901 || got[2].Reset != 59*time.Second {
		t.Errorf("told %+v", got)
	}
}

// TestOverheardNamesAreBounded: nothing is taken in of a limit with a name that no server has, which would be
// read whole, and shown, again and again. What the store has handed over stays as it is.
func TestOverheardNamesAreBounded(t *testing.T) {
	l := newLease(t, "1/s", 0)
	longest, longer := strings.Repeat("x", longestName), strings.Repeat("x", longestName+1)
	all := []quota.Statement{
		{Name: longer, Limit: 1},
		{Name: longest, Limit: 2},
		{Counter: longer, Limit: 3},
		{Counter: longest, Limit: 4},
		{Unit: longer, Limit: 5},
		{Unit: longest, Limit: 6},
		{Limit: 7},
	}
	before := slices.Clone(all)
	var got []int64
	for _, st := range l.Overheard(at(0), all, 0) {
		got = append(got, st.Limit)
	}
	equal(t, "limits", got, []int64{2, 4, 6, 7})
	equal(t, "what the store has", all, before)
}

// TestOverheardIsBounded: however much a store tells of a server, no more is taken in than a store keeps.
func TestOverheardIsBounded(t *testing.T) {
	l := newLease(t, "1/s", 0)
	for n, want := range map[int]int{0: 0, 1: 1, 16: 16, 17: 16, 100_000: 16} {
		equal(t, fmt.Sprint("of ", n), len(l.Overheard(at(0), make([]quota.Statement, n), 0)), want)
	}
}

// TestLearned: the store is told what is new, every three seconds at most, and again if a call failed.
func TestLearned(t *testing.T) {
	var l Learned
	for _, step := range []struct {
		at    time.Duration
		known string
		fails bool
		want  string
	}{
		{1, "", false, ""},
		{tellEvery, "a", false, ""}, // it was looked at 1 ns less than that ago
		{1 + tellEvery, "a", true, "a"},
		{1 + 2*tellEvery, "a", false, "a"},
		{1 + 3*tellEvery, "a", false, ""},
		{1 + 4*tellEvery, "b", false, "b"},
	} {
		got := ""
		if l.Due(monotime.Time(step.at)) {
			got = l.Tell(step.known)
		}
		if step.fails {
			l.Failed()
		}
		if got != step.want {
			t.Errorf("at %v: %q is told, want %q", step.at, got, step.want)
		}
	}
}
