package pace

import (
	"testing"
	"time"
)

// TestBurstThatIsRefused: what an earlier run has found may go at once when all of it has come back, and is
// forgotten if it is refused.
func TestBurstThatIsRefused(t *testing.T) {
	kept := Memory{Rate: 10, Growth: 0.2, At: start, Burst: 5}
	var r Rate
	if known, atOnce := r.Resume(start.Add(500*time.Millisecond), &kept, 0); !known || atOnce {
		t.Errorf("known %v, at once %v, before the burst has come back", known, atOnce)
	}
	now := start.Add(time.Hour)
	if known, atOnce := r.Resume(now, &kept, 0); !known || !atOnce {
		t.Errorf("known %v, at once %v an hour later", known, atOnce)
	}
	if r.Due(now, 2, 3, 0, false) != now || r.Due(now, 3, 3, 0, false) == now {
		t.Error("not five go at once")
	}
	if s := r.State(now); s.Burst != 5 {
		t.Errorf("%+v, want a burst of 5", s)
	}
	r.serve(now)
	r.Refuse(now, false)
	if m, _ := r.Memory(0); m.Burst != 0 || r.burst.left != 0 || r.Due(now, 0, 1, 0, false) == now {
		t.Errorf("a burst of %d is known although it was refused, and %d may go", m.Burst, r.burst.left)
	}
}

// TestBurstSmall: where many were served before the first refusal, more may gather than is known to go at once.
func TestBurstSmall(t *testing.T) {
	for _, test := range []struct {
		name string
		b    burst
		want bool
	}{
		{"few before the first refusal", burst{served: provenServed - 1, refused: start}, true},
		{"many, as slowly as the rate", burst{served: provenServed, refused: start}, false},
		{"nothing was refused yet", burst{served: 1}, false},
		{"an earlier run has found many", burst{lent: provenServed, refused: start}, false},
	} {
		if got := test.b.small(); got != test.want {
			t.Errorf("%s: small %v, want %v", test.name, got, test.want)
		}
	}
}

// TestBurstIsCounted: what was served from the first request to the first refusal, beyond the rate, is the
// burst.
func TestBurstIsCounted(t *testing.T) {
	const s = time.Second
	var b burst
	b.refuse(start) // nothing was counted yet
	b.take(start, 1)
	b.take(start.Add(s), 1)
	b.serve(30, false, 0)
	if got := b.memory(5); got != 0 {
		t.Errorf("a burst of %d before the first refusal, want none", got)
	}
	b.refuse(start.Add(4 * s))
	b.serve(30, false, 0) // as fast as the rate
	b.refuse(start.Add(10 * s))
	if got := b.memory(5); got != 10 {
		t.Errorf("a burst of %d after 30 in 4 s at 5/s, want 10", got)
	}
	b.serve(3, true, start.Add(4*s))  // the first refusal was heard of before
	b.serve(5, true, start.Add(10*s)) // it went after that
	if got := b.memory(5); got != 13 {
		t.Errorf("a burst of %d, want 13 with what was on its way at the first refusal", got)
	}
	b.lent = 7
	if got := b.memory(5); got != 7 {
		t.Errorf("a burst of %d, want 7, as an earlier run has found", got)
	}
}

// TestBurstOfOneFlight: of requests that come at once, those that are served belong to the burst whichever
// answer is heard of first, but nothing that went after the refusal does.
func TestBurstOfOneFlight(t *testing.T) {
	for heard := range 10 {
		var r Rate
		for range 20 {
			r.Take(start, start, 1)
		}
		now := start.Add(time.Second)
		for range heard {
			r.Serve(now, 1, Went{Sent: start})
		}
		r.Refuse(now, false)
		for range 10 - heard {
			r.Serve(now, 1, Went{Sent: start, BeforeRefusal: true})
		}
		r.Serve(now.Add(time.Second), 1, Went{Sent: now})
		if got := r.burst.memory(0); got != 10 {
			t.Errorf("a burst of %d after %d of 10 were heard of before the first refusal, want 10", got, heard)
		}
	}
}
