package expect

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

var unsaid = quota.Costs{"tokens": 0}

// spend has a claim of a kind go and end, which costs n.
func spend(k *Kind, n int) {
	t := Begin(1, k, unsaid)
	t.Settle(1, quota.Costs{"tokens": int64(n)})
	t.End(1, false)
}

func TestCost(t *testing.T) {
	var ks Kinds
	k := ks.Of("POST", "/chat/17")
	if k.Cost("tokens") != 0 || k.Spare("tokens") != 0 || k.Until("tokens") != 1 {
		t.Errorf("of a kind that never came: cost %d, spare %d", k.Cost("tokens"), k.Spare("tokens"))
	}
	for _, n := range []int{100, 200, 600} {
		spend(k, n)
	}
	if got := k.Cost("tokens"); got != 300 {
		t.Errorf("the mean of 100, 200 and 600 is %d", got)
	}
	if got := k.Cost("images"); got != 0 {
		t.Errorf("%d images", got)
	}
	if ks.Of("POST", "/chat/18") != k || ks.Of("GET", "/chat/17") == k || ks.Of("POST", "/other/17") == k {
		t.Error("kinds are told apart by verb and path, but for IDs")
	}
	remembered := len(ks.kinds)
	models := ks.Like("GET", "/models")
	if got := models.Cost("tokens"); got != 300 {
		t.Errorf("of a kind that is new %d, want what all cost", got)
	}
	if len(ks.kinds) != remembered {
		t.Error("a look remembers a kind")
	}
	spend(ks.Of("GET", "/models"), 1)
	if got := k.Any().Cost("tokens"); got != 226 {
		t.Errorf("of all kinds %d, want 225.25, rounded up", got)
	}
	silent := Begin(1, ks.Of("GET", "/silent"), unsaid)
	if got := silent.Unheard(); len(got) != 1 || got["tokens"] != 0 {
		t.Errorf("of the first of a kind, %v is not known", got)
	}
	if silent.End(1, false); ks.Of("GET", "/silent").Cost("tokens") != 0 {
		t.Error("a kind of which nobody says that it costs something does")
	}
}

// TestWhole: a cost below one token is one, so that any number of claims does not go; but for dust.
func TestWhole(t *testing.T) {
	var ks Kinds
	k := ks.Of("", "")
	spend(k, 1)
	for n := range 40 {
		spend(k, 0)
		if got := k.Cost("tokens"); got != 1 {
			t.Errorf("after one and %d times nothing %d, want 1", n+1, got)
		}
	}
	for range 1000 {
		spend(k, 0)
	}
	if got := k.Cost("tokens"); got != 0 {
		t.Errorf("long after it cost something %d", got)
	}
}

// TestUntil: of a kind that nobody knows one goes, and twice as many after 5 s, or more after a word of it.
func TestUntil(t *testing.T) {
	var ks Kinds
	k := ks.Of("", "")
	now := monotime.Time(1)
	var flight []Ticket
	for _, want := range []int{0, 5, 10, 10, 15, 15, 15, 15, 20} {
		at := k.Until("tokens")
		if got := max(at.Sub(1), 0); got != time.Duration(want)*time.Second {
			t.Errorf("claim %d may go at %v, want %d s", len(flight), got, want)
		}
		now = max(now, at)
		flight = append(flight, Begin(now, k, unsaid))
	}
	flight[0].Settle(now, quota.Costs{"tokens": 10})
	flight[0].End(now, false) // 1 + 2 may be under way, and 8 are
	if got := k.Until("tokens").Sub(now); got != 2*patience {
		t.Errorf("after a word of it, one more may go in %v", got)
	}
	for range enough {
		spend(k, 10)
	}
	if got := k.Until("tokens"); got != 0 {
		t.Errorf("of a kind that is known, the next may go at %v", got)
	}
}

// TestHalfLife: the latest 32 costs have half of the weight, once there are many.
func TestHalfLife(t *testing.T) {
	var ks Kinds
	k := ks.Of("", "")
	for range 1000 {
		spend(k, 0)
	}
	for range halfLife {
		spend(k, 1000)
	}
	if got := k.Cost("tokens"); got != 500 {
		t.Errorf("after 32 costs of 1000 %d, want 500", got)
	}
}

// TestSpare: the spread becomes known, and what is under way adds to it; one mean is put up with.
func TestSpare(t *testing.T) {
	var ks Kinds
	k := ks.Of("", "")
	spend(k, 100)
	// The spread is taken for as large as the cost: sqrt(100² + 100²) times the margin, less the mean.
	if got, want := k.Spare("tokens"), int(math.Ceil(margin*math.Sqrt(20_000)-100)); got != int64(want) {
		t.Errorf("after one cost %d, want %d", got, want)
	}
	for range 5000 {
		spend(k, 100)
	}
	if got := k.Spare("tokens"); got != 0 {
		t.Errorf("of costs that do not vary %d", got)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		spend(k, int(100+100*r.NormFloat64()))
	}
	alone := k.Spare("tokens")
	flight := []Ticket{Begin(1, k, unsaid), Begin(1, k, unsaid), Begin(1, k, unsaid)}
	four := k.Spare("tokens")
	if alone < 100 || four < alone+150 || four > 4*alone {
		t.Errorf("alone %d, beside three %d", alone, four)
	}
	for i := range flight {
		flight[i].End(1, true)
	}
	if got := k.Spare("tokens"); got != alone {
		t.Errorf("after them %d, want %d", got, alone)
	}
}

// TestTicket: what is said last before the end counts, else what is said first after it; of a request that was
// not done, nothing.
func TestTicket(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(t *Ticket)
		want int64
	}{
		"said twice": {func(t *Ticket) {
			t.Settle(1, quota.Costs{"tokens": 5})
			t.Settle(1, quota.Costs{"tokens": 7})
			t.End(1, false)
		}, 7},
		"said after the end": {func(t *Ticket) {
			t.End(1, false)
			t.Settle(1, quota.Costs{"tokens": 5})
			t.Settle(1, quota.Costs{"tokens": 7})
		}, 5},
		"said before and after": {func(t *Ticket) {
			t.Settle(1, quota.Costs{"tokens": 5})
			t.End(1, false)
			t.Settle(1, quota.Costs{"tokens": 7})
		}, 5},
		"not done": {func(t *Ticket) {
			t.Settle(1, quota.Costs{"tokens": 5})
			t.End(1, true)
			t.Settle(1, quota.Costs{"tokens": 7})
		}, 0},
		"never said":        {func(t *Ticket) { t.End(1, false); t.End(1, false) }, 0},
		"less than nothing": {func(t *Ticket) { t.Settle(1, quota.Costs{"tokens": -5}); t.End(1, false) }, 0},
		"far too much":      {func(t *Ticket) { t.Settle(1, quota.Costs{"tokens": math.MaxInt}); t.End(1, false) }, quota.MaxN},
	} {
		t.Run(name, func(t *testing.T) {
			var ks Kinds
			k := ks.Of("", "")
			ticket := Begin(1, k, unsaid)
			tt.do(&ticket)
			if got := k.Cost("tokens"); got != min(tt.want, math.MaxInt) || len(ks.under) != 0 {
				t.Errorf("cost %d, want %d; under way %v", got, tt.want, ks.under)
			}
			if spare := k.Spare("tokens"); spare < 0 || spare > quota.MaxN {
				t.Errorf("spare %d", spare)
			}
		})
	}
	var none Ticket
	if none.Settle(1, quota.Costs{"tokens": 1}) || none.End(1, false) || none.Open() {
		t.Error("the zero Ticket does something")
	}
}

// TestBounds: kinds and units are bounded, and claims whose kind was forgotten go on with it.
func TestBounds(t *testing.T) {
	var ks Kinds
	first := ks.Of("POST", "/first")
	ticket := Begin(1, first, unsaid)
	for i := range 3 * maxKinds {
		spend(ks.Of("POST", "/"+strings.Repeat("x", i+1)), i)
	}
	long := strings.Repeat("y/", 10_000)
	if ks.Of("POST", long) != ks.Of("POST", long+"z") || len(ks.kinds) != maxKinds || len(ks.kinds[maxKinds-1].path) > 2*maxPath {
		t.Errorf("%d kinds, a path of %d bytes", len(ks.kinds), len(ks.kinds[maxKinds-1].path))
	}
	ticket.Settle(1, quota.Costs{"tokens": 7})
	if ticket.End(1, false); first.Cost("tokens") != 7 || ks.Of("POST", "/first") == first {
		t.Errorf("the first kind costs %d, want 7, and is forgotten", first.Cost("tokens"))
	}
	k := ks.Of("", "")
	for i := range 3 * maxUnits {
		unit := fmt.Sprint("unit", i)
		t := Begin(1, k, quota.Costs{unit: 0})
		t.Settle(1, quota.Costs{unit: 1})
		t.End(1, false)
	}
	if len(k.costs) != maxUnits || len(ks.all.costs) != maxUnits {
		t.Errorf("%d units, of all %d", len(k.costs), len(ks.all.costs))
	}
}

// Answers that name many units keep no unit of a quota out, neither one that the quotas have from the beginning
// nor a later one.
func TestUnitsOfAnswers(t *testing.T) {
	for range 20 { // each order of a map
		var ks Kinds
		for i, unit := range []string{"tokens", "points"} {
			spent := quota.Costs{unit: 100}
			for i := range 2 * maxUnits {
				spent[fmt.Sprint("other", i)] = int64(i)
			}
			k := ks.Of("POST", "/chat")
			ticket := Begin(1, k, quota.Costs{unit: 0})
			ticket.Settle(1, spent)
			ticket.End(1, false)
			if got, all := k.Cost(unit), ks.Like("POST", "/new").Cost(unit); got != 100 || all != 100 {
				t.Fatalf("unit %d: the kind costs %d %s, and a new one %d, want 100", i, got, unit, all)
			}
		}
	}
}

// What a claim is said to cost is learned up to what a quota grants; of a unit that no quota has, all of it.
func TestGraspable(t *testing.T) {
	got := Graspable(quota.Costs{"tokens": 999_999_999, "images": 7, "minutes": 3}, func(unit string) int64 {
		return map[string]int64{"tokens": 30_000, "images": 10}[unit]
	})
	if want := (quota.Costs{"tokens": 30_000, "images": 7, "minutes": 3}); !maps.Equal(got, want) {
		t.Errorf("learned %v, want %v", got, want)
	}
}
