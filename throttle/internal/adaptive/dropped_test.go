package adaptive

import (
	"testing"
	"time"
)

// TestDroppedIsLookedFor: a limit comes back by a token in five minutes, and is stated no more. From the first answer on
// that does not state it, requests wait for five seconds; after a refusal, for five minutes, and then for ten seconds.
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
		b.slowStart.allowed = 0
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
