package bell

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRing: bells are rung in the order in which they were added, each once, and may be added again as soon as
// they have rung.
func TestRing(t *testing.T) {
	var l List
	bells := []Bell{New(), New(), New()}
	for range 3 {
		for i := range bells {
			l.Add(&bells[i])
		}
		first := l.Take()
		if first != &bells[0] || l != (List{}) {
			t.Fatalf("took %p of %v, and left %v", first, bells, l)
		}
		first.Ring()
		l.Take().Ring() // nothing
		for i := range bells {
			if b := &bells[i]; !b.Rung() || b.next != nil {
				t.Errorf("bell %d was not rung", i)
			}
			if e := bells[i].WaitOr(Never, nil, nil); e != Rung || bells[i].Rung() {
				t.Errorf("bell %d: got %v", i, e)
			}
		}
	}
}

func TestWaitOr(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never, closed := make(chan struct{}), make(chan struct{})
		close(closed)
		b := New()
		for _, test := range []struct {
			left            time.Duration
			ended, canceled <-chan struct{}
			want            Event
		}{
			{time.Second, never, nil, Expired},
			{0, never, never, Expired},
			{Never, closed, never, Ended},
			{time.Hour, nil, closed, Canceled},
		} {
			if got := b.WaitOr(test.left, test.ended, test.canceled); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		}
		go func() {
			time.Sleep(time.Second)
			b.Ring()
		}()
		if got := b.WaitOr(time.Minute, never, never); got != Rung || b.Rung() {
			t.Errorf("got %v, want that it rang", got)
		}
	})
}
