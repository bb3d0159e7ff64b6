package expect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gopacer/pacer/quota"
)

var unsaid = quota.Costs{"tokens": 0}

// spend has a claim of a kind go and end, which costs n.
func spend(k *Kind, n int) {
	t := Begin(k, unsaid)
	t.Settle(quota.Costs{"tokens": n})
	t.End(false)
}

func TestCost(t *testing.T) {
	var ks Kinds
	k := ks.Of("POST", "/chat/17")
	if k.Cost("tokens") != 0 || k.Spare("tokens") != 0 || k.Waits("tokens") {
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
	spend(ks.Of("GET", "/models"), 0)
	if got := k.Any().Cost("tokens"); got != 225 {
		t.Errorf("of all kinds %d, want 225", got)
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
	if got, want := k.Spare("tokens"), int(math.Ceil(margin*math.Sqrt(20_000)-100)); got != want {
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
	flight := []Ticket{Begin(k, unsaid), Begin(k, unsaid), Begin(k, unsaid)}
	four := k.Spare("tokens")
	if alone < 100 || four < alone+150 || four > 4*alone {
		t.Errorf("alone %d, beside three %d", alone, four)
	}
	for i := range flight {
		flight[i].End(true)
	}
	if got := k.Spare("tokens"); got != alone {
		t.Errorf("after them %d, want %d", got, alone)
	}
}

// TestTicket: what is said last before the end counts, else what is said first after it; of a request that was not done, nothing.
func TestTicket(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(t *Ticket)
		want int64
	}{
		"said twice":            {func(t *Ticket) { t.Settle(quota.Costs{"tokens": 5}); t.Settle(quota.Costs{"tokens": 7}); t.End(false) }, 7},
		"said after the end":    {func(t *Ticket) { t.End(false); t.Settle(quota.Costs{"tokens": 5}); t.Settle(quota.Costs{"tokens": 7}) }, 5},
		"said before and after": {func(t *Ticket) { t.Settle(quota.Costs{"tokens": 5}); t.End(false); t.Settle(quota.Costs{"tokens": 7}) }, 5},
		"not done":              {func(t *Ticket) { t.Settle(quota.Costs{"tokens": 5}); t.End(true); t.Settle(quota.Costs{"tokens": 7}) }, 0},
		"never said":            {func(t *Ticket) { t.End(false); t.End(false) }, 0},
		"less than nothing":     {func(t *Ticket) { t.Settle(quota.Costs{"tokens": -5}); t.End(false) }, 0},
		"far too much":          {func(t *Ticket) { t.Settle(quota.Costs{"tokens": math.MaxInt}); t.End(false) }, quota.MaxN},
	} {
		t.Run(name, func(t *testing.T) {
			var ks Kinds
			k := ks.Of("", "")
			ticket := Begin(k, unsaid)
			tt.do(&ticket)
			if got := k.Cost("tokens"); int64(got) != min(tt.want, math.MaxInt) || len(ks.under) != 0 {
				t.Errorf("cost %d, want %d; under way %v", got, tt.want, ks.under)
			}
			if spare := k.Spare("tokens"); spare < 0 || int64(spare) > quota.MaxN {
				t.Errorf("spare %d", spare)
			}
		})
	}
	var none Ticket
	if none.Settle(quota.Costs{"tokens": 1}) || none.End(false) || none.Open() {
		t.Error("the zero Ticket does something")
	}
}

// TestBounds: kinds and units are bounded, and claims whose kind was forgotten go on with it.
func TestBounds(t *testing.T) {
	var ks Kinds
	first := ks.Of("POST", "/first")
	ticket := Begin(first, unsaid)
	for i := range 3 * maxKinds {
		spend(ks.Of("POST", "/"+strings.Repeat("x", i+1)), i)
	}
	long := strings.Repeat("y/", 10_000)
	if ks.Of("POST", long) != ks.Of("POST", long+"z") || len(ks.kinds) != maxKinds || len(ks.kinds[maxKinds-1].path) > 2*maxPath {
		t.Errorf("%d kinds, a path of %d bytes", len(ks.kinds), len(ks.kinds[maxKinds-1].path))
	}
	ticket.Settle(quota.Costs{"tokens": 7})
	if ticket.End(false); first.Cost("tokens") != 7 || ks.Of("POST", "/first") == first {
		t.Errorf("the first kind costs %d, want 7, and is forgotten", first.Cost("tokens"))
	}
	k := ks.Of("", "")
	for i := range 3 * maxUnits {
		unit := fmt.Sprint("unit", i)
		t := Begin(k, quota.Costs{unit: 0})
		t.Settle(quota.Costs{unit: 1})
		t.End(false)
	}
	if len(k.costs) != maxUnits || len(ks.all.costs) != maxUnits {
		t.Errorf("%d units, of all %d", len(k.costs), len(ks.all.costs))
	}
}
