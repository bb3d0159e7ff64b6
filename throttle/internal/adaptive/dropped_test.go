package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/slowstart"
)

// TestDroppedIsLookedFor: a limit comes back by a token in five minutes, and is stated no more. From the first
// answer on that does not state it, requests wait for five seconds; after a refusal, for five minutes, and then
// for ten seconds.
func TestDroppedIsLookedFor(t *testing.T) {
	const slow = 5 * time.Minute
	b := newBucket(t, Config{})
	b.exchange(says(left(0, 2, time.Second)))
	b.window1().refill.resume(b.now, 2, 0, 1/slow.Seconds(), false, b.config.MaxHold)
	for _, row := range []struct {
		answer Answer
		want   time.Duration
	}{
		{Answer{}, 5 * time.Second},
		{Answer{}, 5 * time.Second},
		{refuses(left(0, 2, time.Second)), slow * 5 / 4}, // 0.8 of the rate
		{Answer{}, 10 * time.Second},
		{says(left(0, 2, time.Second)), slow * 5 / 4},
		{Answer{}, 10 * time.Second},
	} {
		b.now = b.now.Add(b.dueAfter(0, 1))
		b.exchange(row.answer)
		b.slowStart = slowstart.Start{}
		if got := b.dueAfter(0, 1).Round(time.Second); got != row.want {
			t.Errorf("at %v: a request may go in %v, want %v", b.now.Sub(start), got, row.want)
		}
	}
	since := b.now
	for n := 1; n < droppedAfter; n++ {
		b.window1()
		b.now = b.now.Add(b.dueAfter(0, 1))
		b.exchange(Answer{})
	}
	if took := b.now.Sub(since); len(b.windows) > 0 || took != 150*time.Second {
		t.Errorf("%d limits after %v, want none after 2m30s", len(b.windows), took)
	}
}

// TestDroppedBesideAnother: a limit is stated no more, and a refusal by another one, which is stated, says
// nothing of that: neither does it end the row, nor is it wrong to have looked.
func TestDroppedBesideAnother(t *testing.T) {
	for _, stated := range []bool{false, true} { // by the refusals
		b := newBucket(t, Config{})
		dropped, other := left(0, 2, time.Second), left(5, 10, 10*time.Second)
		dropped.Name, other.Name = "dropped", "other"
		b.exchange(says(dropped, other))
		w, o := b.windows[0], b.windows[1]
		w.refill.resume(b.now, 2, 0, 1.0/300, false, b.config.MaxHold)
		o.refill.resume(b.now, 10, 5, 1, false, b.config.MaxHold)
		n := 0
		for ; len(b.windows) == 2 && n < 2*droppedAfter; n++ {
			b.now = b.now.Add(10 * time.Second)
			other.Remaining = 5
			b.exchange(says(other))
			if n%4 == 3 {
				other.Remaining = 0
				no := refuses(other)
				if dropped.Remaining = 2; stated {
					no = refuses(dropped, other)
				}
				b.exchange(no)
				o.refill.resume(b.now, 10, 0, 1, false, b.config.MaxHold)
			}
		}
		if stated && (len(b.windows) < 2 || w.dropped.wronged > 0) || !stated && n != droppedAfter {
			t.Errorf("stated %v: %d limits after %d answers, and %d wrong rows", stated, len(b.windows), n, w.dropped.wronged)
		}
	}
}
