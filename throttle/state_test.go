package throttle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/quota"
)

// The level of every quota: configured ones in their order, then what the server states.
func TestStateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter, Quotas: quotas(t, "10/s burst 20, 100 tokens/m window, 3 in flight, 7/m sliding, 5/m window grid")}
		l.Quotas = append(l.Quotas, quota.Quota{}, quota.Quota{Name: "mine", N: 10, Burst: 5, Debt: true})
		g := grant(t, l, Claim{Costs: quota.Costs{"tokens": 30}})
		grant(t, l, Claim{N: 4})
		g.Settle(quota.Costs{quota.Requests: 1, "tokens": 40})
		time.Sleep(100 * time.Millisecond)
		g.Answered(Answer{Statements: []quota.Statement{
			{Name: "core", Limit: 60, Remaining: 50, Reset: time.Hour, ResetKnown: true},
			{Counter: "b", Unit: "tokens", Remaining: 3},
		}})
		const passed = 100 * time.Millisecond
		want := []Level{
			{Quota: "10/s burst 20", Limit: 20, Available: 16, Reset: 400 * time.Millisecond, Rate: 10},
			{Quota: "100 tokens/m window", Unit: "tokens", Limit: 100, Available: 60, Reset: time.Minute - passed},
			{Quota: "3 in flight", Limit: 3, Available: 2},
			{Quota: "7/m sliding", Limit: 7, Available: 2, Reset: time.Minute - passed},
			{Quota: "5/m window grid", Limit: 5, Available: 0, Reset: time.Minute - passed},
			{Quota: "mine", Limit: 5, Available: 1, Reset: 400 * time.Millisecond, Rate: 10},
			{Quota: "core", Limit: 60, Available: 46, Reset: time.Hour, Stated: true},
			{Counter: "b", Unit: "tokens", Available: 0, Stated: true},
		}
		got := l.State().Limits
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// What a server states is in one order, whatever the order in which it is stated.
func TestStateLimitsAreInOrder(t *testing.T) {
	all := []quota.Statement{
		{Name: "core", Limit: 9, Remaining: 5},
		{Name: "day", Limit: 9, Remaining: 5},
		{Name: "core", Counter: "b", Limit: 9, Remaining: 5},
		{Name: "core", Unit: "tokens", Limit: 9, Remaining: 5},
		{Limit: 9, Remaining: 5},
	}
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			l := &Limiter{}
			for _, st := range all {
				grant(t, l, Claim{}).Answered(Answer{Statements: []quota.Statement{st}})
			}
			var got []string
			for _, level := range l.State().Limits {
				got = append(got, level.Unit+" "+level.Quota+" "+level.Counter)
			}
			if want := []string{"  ", " core ", " core b", " day ", "tokens core "}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Of what is shared with other processes, what is in hand is available.
func TestStateLimitsOfAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := member(t, nearStore(), "10/s burst 2, 4 in flight, 100 tokens/h burst 5")
		for range 20 {
			grant, err := l.Acquire(t.Context(), tokens(0))
			if err != nil {
				t.Fatal(err)
			}
			grant.Answered(Answer{})
		}
		s := l.State()
		if len(s.Limits) != 3 || s.Limits[0].Available+s.Limits[2].Available != s.Store.Hand || s.Limits[0].Limit != 2 || s.Limits[1].Available != 4 || s.Limits[2].Limit != 5 {
			t.Errorf("%+v", s.Limits)
		}
		l.Close()
	})
}

func TestGroupStateIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: func(path []string) *Limiter { return &Limiter{Name: strings.Join(path, "/")} }}
		for _, path := range []string{"b/2", "a b", "b/10", "a/x", "b", "c"} {
			g.Limiter(strings.Split(path, "/")...)
		}
		a := g.Limiter("a")
		for i, name := range []string{"search", "core"} {
			grant, _ := a.Observe(Claim{Verb: "GET", Path: "/" + name})
			grant.Answered(remaining(name, 1-i))
		}
		want := "a, a (core), a (search), a/x, a b, b, b/10, b/2, c"
		for range 10 {
			var names []string
			for _, s := range g.State() {
				names = append(names, s.Bucket)
			}
			if got := strings.Join(names, ", "); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

func TestStateJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "api", Rand: noJitter, Quotas: quotas(t, "2/s burst 3")}
		g := grant(t, l, Claim{N: 3})
		g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 1500 * time.Millisecond}, Statements: []quota.Statement{{Name: "core", Limit: 60, Remaining: 7, Reset: time.Minute, ResetKnown: true}}})
		s := l.State()
		s.Store = &StoreState{Members: 2, RoundTrip: time.Millisecond, Err: errors.New("no route to host")}
		got, err := json.MarshalIndent(s, "", "  ")
		want := `{
  "bucket": "api",
  "held": "1.5s",
  "next": {
    "wait": "1.5s",
    "bucket": "api",
    "cause": "hold"
  },
  "limits": [
    {
      "quota": "2/s burst 3",
      "limit": 3,
      "available": 0,
      "reset": "1.5s",
      "rate": 2
    },
    {
      "quota": "core",
      "limit": 60,
      "available": 7,
      "reset": "1m0s",
      "stated": true
    }
  ],
  "store": {
    "members": 2,
    "err": "no route to host",
    "roundTrip": "1ms"
  }
}`
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if got, err := json.Marshal(&State{Bucket: "b"}); string(got) != `{"bucket":"b"}` || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		compact, _ := json.Marshal(s)
		if text := fmt.Sprintf("%v %+v", s, &s); text != string(compact)+" "+string(compact) {
			t.Errorf("printed as %s, want the JSON", text)
		}
	})
}

// What a client of a store says of its failure is printed without control characters and without credentials.
func TestStateOfAStoreThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		down := errors.New("dial redis://me:secret@10.0.0.1:6379/0: \x1b[2Jno route")
		shared.fail = func(int) error { return down }
		l := &Limiter{Name: "api", Quotas: quotas(t, "100/s even"), Shared: Shared{Store: shared}, MaxWait: time.Second}
		defer l.Close()
		refusal := l.Wait(t.Context(), 1)
		s := l.State()
		if !errors.Is(s.Store.Err, down) {
			t.Errorf("state %+v", s.Store)
		}
		asJSON, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{refusal.Error(), string(asJSON), fmt.Sprintf("%+v", s)} {
			if !strings.Contains(text, "dial redis://…@10.0.0.1:6379/0: %1B[2Jno route") || strings.Contains(text, "secret") {
				t.Error(text)
			}
		}
	})
}

// TestStateBeliefs: what is believed of the server is said in words.
func TestStateBeliefs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "api", Rand: noJitter}
		if got := l.State().Beliefs; len(got) != 0 {
			t.Errorf("%q is believed of a new server", got)
		}
		for i := range 2 {
			grant(t, l, Claim{}).Answered(Answer{Statements: []quota.Statement{{Limit: 10, Remaining: int64(5 - i), Reset: time.Duration(5+i) * time.Second, ResetKnown: true}}})
			time.Sleep(time.Second)
		}
		// The bubble begins at midnight.
		if got, want := fmt.Sprintf("%q", l.State().Beliefs), `["the server's limit of 10: refills 1/s, seen since 00:00:01"]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
