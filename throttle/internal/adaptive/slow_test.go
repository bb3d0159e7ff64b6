package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestLooksThatTakeLong: answers take seconds to write, and refusals come at once. So a look that is not
// refused in twice the time of a refusal is served, and another one goes, as many as the limit has. The window
// begins when they went, and what is answered later of requests that went before says nothing of it.
func TestLooksThatTakeLong(t *testing.T) {
	of10 := func(remaining int) quota.Statement { return quota.Statement{Limit: 10, Remaining: int64(remaining)} }
	b := newBucket(t, Config{})
	old := b.send()
	b.exchange(says(of10(0)))
	b.at(time.Second)
	look := b.send()
	b.at(1050*time.Millisecond).done(look, refuses(of10(0)))

	b.at(2 * time.Second).wantDue(0)
	first := b.send()
	b.wantDue(100 * time.Millisecond)
	b.at(2100 * time.Millisecond).wantDue(0)
	second := b.send()
	b.wantDue(100 * time.Millisecond)
	third := b.at(2200 * time.Millisecond).send()

	b.at(6*time.Second).done(second, says(of10(8)))
	if from := b.window1().seek.from.Sub(start); from != 2200*time.Millisecond {
		t.Errorf("the window began at %v, want 2.2 s", from)
	}
	b.done(old, says(of10(1)))
	b.done(first, says(of10(9)))
	if got := b.window1().remaining; got != 8 {
		t.Errorf("%d remain, want 8: other answers are of requests that went before", got)
	}
	b.done(third, says(of10(7)))
	if got := b.window1().remaining; got != 7 {
		t.Errorf("%d remain, want 7", got)
	}
}

// TestLooksThatTakeLongAreFew: no more go without an answer than the limit has; and only one each five seconds
// where nobody knows how long a refusal takes.
func TestLooksThatTakeLongAreFew(t *testing.T) {
	of2 := quota.Statement{Limit: 2}
	b := newBucket(t, Config{})
	b.exchange(says(of2))
	look := b.at(time.Second).send()
	b.wantDue(Patience)
	b.at(1050*time.Millisecond).done(look, refuses(of2))
	b.at(2 * time.Second).send()
	b.at(2100 * time.Millisecond).wantDue(0)
	b.send()
	b.wantDue(Patience)
}

// TestOthersWhereAnswersTakeLong: what is in flight when a window ends was used of it, too, and is not what
// others used.
func TestOthersWhereAnswersTakeLong(t *testing.T) {
	b := newBucket(t, Config{})
	stated := func(remaining int) quota.Statement { return left(remaining, 20, 10*time.Second) }
	b.exchange(says(stated(19)))
	var slow []*Ticket
	for range 19 {
		slow = append(slow, b.send())
	}
	b.at(time.Second)
	for i := range 4 { // each takes longer than the window
		b.done(slow[15+i], says(left(3-i, 20, 9*time.Second)))
	}
	b.at(10 * time.Second).exchange(says(stated(19)))
	if others := b.window1().others.perOurToken; others != 0 {
		t.Errorf("others use %v for each of ours, want 0", others)
	}
}

// TestBesideALook: what is in flight may have had a part of what a look found if the look took so long that
// others went meanwhile, and not if it was answered before that.
func TestBesideALook(t *testing.T) {
	for took, want := range map[time.Duration]int{79: 0, 80: 0, 81: 4} {
		l, o := look{looking: true, quick: 40}, outcome{sent: start, now: start.Add(took), n: 1, flight: 5}
		if l.answered(&o, &Ticket{looks: true, sequence: 1}, 2); !o.look || o.beside != want {
			t.Errorf("a look %v, %d beside it after %d, want %d", o.look, o.beside, took, want)
		}
	}
}
