package payment

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// A Payment is used or given back once, whoever comes first: who redeems it, who cancels it, or the end of the
// context. What is redeemed in another bucket, or too late, is given back.
func TestPayment(t *testing.T) {
	type world struct {
		p       *Payment
		l       *throttle.Limiter
		granted *throttle.Grant
		end     context.CancelFunc
	}
	redeems := func(w *world, want bool) bool {
		g := w.p.Redeem(w.l)
		return (g != nil) == want && (g == nil || g == w.granted)
	}
	for name, test := range map[string]struct {
		do       func(w *world) (ok bool)
		inFlight int
	}{
		"nothing":             {func(*world) bool { return true }, 1},
		"redeemed":            {func(w *world) bool { return redeems(w, true) }, 1},
		"redeemed twice":      {func(w *world) bool { return redeems(w, true) && redeems(w, false) }, 1},
		"canceled":            {func(w *world) bool { w.p.Cancel(); return redeems(w, false) }, 0},
		"canceled twice":      {func(w *world) bool { w.p.Cancel(); w.p.Cancel(); return true }, 0},
		"canceled afterwards": {func(w *world) bool { ok := redeems(w, true); w.p.Cancel(); return ok }, 1},
		"the context ends":    {func(w *world) bool { w.end(); synctest.Wait(); return redeems(w, false) }, 0},
		"it ends afterwards":  {func(w *world) bool { ok := redeems(w, true); w.end(); synctest.Wait(); return ok }, 1},
		"in another bucket":   {func(w *world) bool { return w.p.Redeem(new(throttle.Limiter)) == nil && redeems(w, false) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{l: &throttle.Limiter{Quotas: quota.MustParse("1 in flight")}}
				ctx, end := context.WithTimeout(t.Context(), time.Hour)
				defer end()
				var err error
				if w.granted, err = w.l.Acquire(ctx, throttle.Claim{}); err != nil {
					t.Fatal(err)
				}
				w.p, w.end = New(ctx, "me", w.l, w.granted, nil), end
				if !test.do(&w) {
					t.Error("redeemed, or not, or another grant")
				}
				if got := w.l.State().InFlight; got != test.inFlight {
					t.Errorf("%d in flight, want %d", got, test.inFlight)
				}
			})
		})
	}
}

func TestOf(t *testing.T) {
	third := New(context.Background(), 3, nil, new(throttle.Grant), nil)
	second := New(context.Background(), 2, nil, new(throttle.Grant), third)
	first := New(context.Background(), 1, nil, new(throttle.Grant), second)
	for owner, want := range map[any]*Payment{1: first, 2: second, 3: third, 4: nil, "1": nil} {
		if got := first.Of(owner); got != want {
			t.Errorf("of %v: %v, want %v", owner, got, want)
		}
	}
	if got := (*Payment)(nil).Of(1); got != nil {
		t.Errorf("of none: %v", got)
	}
}
