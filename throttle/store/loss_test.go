package store

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// losing are two members of a bucket of 100 that may be lost.
type losing struct {
	t       *testing.T
	l       *Ledger
	kind    quota.Kind
	serial  [3]int64
	life    [3]int64 // of which each has told all
	sharing [3]int   // as each says
}

// send has a member tell what it sent just before, and returns the reply. Who sees it, knows the life of the
// bucket.
func (o *losing) send(at time.Duration, who, own int, sees bool) *Reply {
	o.t.Helper()
	o.serial[who]++
	r := o.request(who, own)
	reply := exchange(o.t, o.l, at, r)
	if sees {
		o.life[who] = reply.Life
	}
	return reply
}

func (o *losing) request(who, own int) *Request {
	r := request(quota.Quotas{{N: 100, Per: 10 * time.Second, Kind: o.kind}}.Explicit(), o.serial[who])
	r.Member, r.Answered, r.Life, r.Sharing = fmt.Sprint(who), o.serial[who]-1, o.life[who], o.sharing[who]
	if own > 0 {
		r.Own = []Own{{In: -100 * time.Millisecond, Cost: []int64{int64(own)}}}
	}
	return r
}

var windows = []quota.Kind{quota.SlidingLog, quota.SlidingWindow, quota.FixedWindow, quota.ClockWindow, quota.EstimatedWindow}

// TestStoreLostWindowIsKnownWhenAllHaveTold: of a window that was lost all is assumed to be used, but for what
// members tell. Nothing is assumed any more, and nobody waits for longer than a quarter of the Horizon, once as
// many have told all as say that they had it.
func TestStoreLostWindowIsKnownWhenAllHaveTold(t *testing.T) {
	const lost = 18 * time.Second
	for _, kind := range windows {
		for name, c := range map[string]struct {
			sharing [3]int // as the two say
			told    int    // of the two
			known   bool
		}{
			"all have told":     {[3]int{2, 2}, 2, true},
			"one has told":      {[3]int{2, 2}, 1, false},
			"one knows of more": {[3]int{3, 2}, 2, false},
			"one does not know": {[3]int{2, 0}, 2, false},
		} {
			t.Run(fmt.Sprint(kind, " ", name), func(t *testing.T) {
				o := &losing{t: t, l: &Ledger{Epoch: time.Unix(1e9, 0)}, kind: kind, sharing: c.sharing}
				o.send(lost-1, 0, 0, true)
				o.send(lost-1, 1, 0, true)
				o.l.Lose()
				for who := range 2 {
					if r := o.send(lost, who, 0, true); !r.Lost {
						t.Errorf("member %d does not hear of the loss", who)
					}
				}
				for who := range c.told {
					o.send(lost+time.Millisecond, who, 20, true)
				}
				b, err := o.l.MarshalBinary()
				if err != nil {
					t.Error("the ledger cannot be written")
				}
				r := o.request(0, 0)
				r.Serial, r.Asks = r.Serial+1, []Ask{{Cost: []int64{1}, Count: 1, Within: -1}}
				for _, after := range []time.Duration{horizon / 4, horizon - 1, 3 * horizon} { // whenever somebody asks then
					var l Ledger
					if l.UnmarshalBinary(b) != nil {
						t.Error("the ledger cannot be read")
					}
					reply := exchange(t, &l, lost+after, r)
					if known := len(reply.Slots) == 1 && reply.Slots[0].In == 0 && reply.Left[0] == 59; known != c.known {
						t.Errorf("after %v slots %v, %d are left: known is %v", after, reply.Slots, reply.Left[0], known)
					}
				}
			})
		}
	}
}

// TestStoreLossIsTold: who listens hears that all have told, since slots are handed out from then on.
func TestStoreLossIsTold(t *testing.T) {
	o := &losing{t: t, l: &Ledger{Epoch: time.Unix(1e9, 0)}, kind: quota.SlidingLog, sharing: [3]int{1}}
	o.send(time.Second, 0, 0, true)
	o.l.Lose()
	o.send(2*time.Second, 0, 0, true)
	for _, c := range []struct {
		at   time.Duration
		lost bool
	}{{2 * time.Second, false}, {2*time.Second + horizon/4 - 1, false}, {2*time.Second + horizon/4, true}, {2*time.Second + horizon/4, false}} {
		o.serial[0]++
		if _, news, err := o.l.Exchange(c.at, o.request(0, 1)); err != nil || news.Lost != c.lost {
			t.Errorf("at %v news are %+v, %v, want Lost: %v", c.at, news, err, c.lost)
		}
	}
}

// TestStoreCopyDoesNotHideALoss: a copy of a request from before a loss, which the member has an answer to,
// comes first. The member hears of the loss all the same.
func TestStoreCopyDoesNotHideALoss(t *testing.T) {
	o := &losing{t: t, l: &Ledger{Epoch: time.Unix(1e9, 0)}, kind: quota.SlidingLog}
	o.send(time.Second, 0, 0, true)
	o.send(time.Second, 0, 0, true)
	o.l.Lose()
	exchange(t, o.l, 2*time.Second, o.request(0, 0)) // the copy
	if !o.send(3*time.Second, 0, 0, false).Lost || !o.send(3*time.Second, 0, 0, true).Lost {
		t.Error("the member does not hear of the loss")
	}
	life := o.life[0]
	if r := o.send(3*time.Second, 0, 0, true); r.Lost || r.Life != life {
		t.Errorf("the member has heard of it, and is told %+v", r)
	}
}

// TestStoreCopyIsNoLoss: a member knows of answers that the store does not know of, of a life before. That is
// not lost again.
func TestStoreCopyIsNoLoss(t *testing.T) {
	o := &losing{t: t, l: &Ledger{Epoch: time.Unix(1e9, 0)}, kind: quota.SlidingLog}
	o.send(time.Second, 0, 0, true)
	first := o.request(0, 0)
	o.send(time.Second, 0, 0, true)
	o.send(time.Second, 0, 0, true)
	o.l.Lose()
	life := exchange(t, o.l, 2*time.Second, first).Life
	if r := o.send(3*time.Second, 0, 0, true); !r.Lost || r.Life != life {
		t.Errorf("got %+v, want Lost of life %d", r, life)
	}
}

// TestStoreParted: members hear that one has left, for as long as it would count among those that share the
// bucket.
func TestStoreParted(t *testing.T) {
	o := &losing{t: t, l: &Ledger{Epoch: time.Unix(1e9, 0)}, kind: quota.SlidingLog}
	o.send(0, 0, 0, true)
	o.send(0, 1, 0, true)
	o.serial[0]++
	leave := o.request(0, 0)
	leave.Leave = true
	exchange(t, o.l, time.Second, leave)
	for at, want := range map[time.Duration]bool{time.Second: true, time.Second + SharingFor - 1: true} {
		if r := o.send(at, 1, 0, true); r.Parted != want {
			t.Errorf("at %v Parted is %v", at, r.Parted)
		}
	}
	if r := o.send(time.Second+SharingFor, 1, 0, true); r.Parted {
		t.Error("Parted a minute later")
	}
}

// TestStorePartedUntilAllHaveTold: after a loss it is not known who shares the bucket, until all that had it
// have told.
func TestStorePartedUntilAllHaveTold(t *testing.T) {
	o := &losing{t: t, l: &Ledger{Epoch: time.Unix(1e9, 0)}, kind: quota.SlidingLog, sharing: [3]int{2, 2}}
	o.send(0, 0, 0, true)
	o.send(0, 1, 0, true)
	o.l.Lose()
	for i, who := range []int64{2, 0, 1, 0, 2} { // the third one has come since
		if r := o.send(time.Second, int(who), 0, true); !r.Parted {
			t.Errorf("call %d: not Parted", i)
		}
	}
	o.send(time.Second, 1, 0, true)
	if r := o.send(1200*time.Millisecond, 1, 0, true); r.Parted { // a quarter of the Horizon is over
		t.Error("Parted, though all have told")
	}
	o.l.Lose()
	if r := o.send(2*time.Second+SharingFor-1, 2, 0, true); !r.Parted {
		t.Error("not Parted before a minute has passed")
	}
	if r := o.send(2*time.Second+2*SharingFor-1, 2, 0, true); r.Parted {
		t.Error("Parted a minute after the loss")
	}
}

// TestAQuotaThatComesAfterALoss: of a list of quotas that comes after a loss, nothing goes beside what members
// told before that, who go by another list.
func TestAQuotaThatComesAfterALoss(t *testing.T) {
	for _, c := range []struct{ told, comes string }{
		{"50/s log", "60/10s log"}, {"100/s even", "60/10s sliding 10"}, {"90/20s log", "60/10s window"}, {"9/s burst 3", "60/10s window grid"},
	} {
		l := &Ledger{Epoch: time.Unix(1e9, 0)}
		l.Lose()
		send := func(at time.Duration, who, text string, own ...Own) *Reply {
			r := request(quotas(t, text).Explicit(), 1)
			r.Member, r.Own = who, own
			r.Asks = []Ask{{Cost: []int64{1}, Count: 60, Within: 0}}
			l = again(t, l) // what it knows is written, and read
			return exchange(t, l, at, r)
		}
		send(2*time.Second, "other", c.told, Own{In: -time.Second, Cost: []int64{40}}, Own{In: -100 * time.Millisecond, Cost: []int64{20}})
		send(2100*time.Millisecond, "late", c.comes)
		for at := 3 * time.Second; at < 10*time.Second; at += 500 * time.Millisecond {
			if r := send(at, fmt.Sprint(at), c.comes); r.Left[0] > 0 || len(r.Slots) > 0 {
				t.Errorf("%s told, %s came later: after %v %d are left, and %d slots handed out; want none, since all went", c.told, c.comes, at, r.Left[0], len(r.Slots))
			}
		}
	}
}

// TestToldPartsDoNotOverflow: however much members say that they sent, a quota that comes after a loss has
// nothing left, and not more than it grants; nor are numbers read that are beyond what can be added up.
func TestToldPartsDoNotOverflow(t *testing.T) {
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	l.Lose()
	r := request(quotas(t, "50/s log").Explicit(), 1)
	r.Own = []Own{{In: -300 * time.Millisecond, Cost: []int64{math.MaxInt}}, {In: -200 * time.Millisecond, Cost: []int64{math.MaxInt}}}
	exchange(t, l, 2*time.Second, r)
	l = again(t, l)
	r = request(quotas(t, "60/10s log").Explicit(), 1)
	r.Member = "other"
	if left := exchange(t, l, 3*time.Second, r).Left[0]; left > 0 {
		t.Errorf("%d are left of a quota that comes later, want none", left)
	}
	for _, n := range []int64{mostInPart, math.MaxInt} {
		l.loss.parts[0].n = n
		data, _ := l.AppendBinary(nil)
		if err := new(Ledger).UnmarshalBinary(data); (err != nil) != (n > mostInPart) {
			t.Errorf("a part of %d: the error is %v", n, err)
		}
	}
}

// TestEachUnitKeepsWhatWasTold: however much was told of one unit, what was told of another one later is
// charged to a quota of that one which comes after, and nothing of the first is forgotten.
func TestEachUnitKeepsWhatWasTold(t *testing.T) {
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	l.Lose()
	exchange(t, l, 99*time.Second, request(quotas(t, "5000/h log, 5000 tokens/h log").Explicit(), 1))
	for serial := range int64(2) {
		r := request(quotas(t, "5000/h log, 5000 tokens/h log").Explicit(), 2+serial)
		for k := range 60 {
			r.Own = append(r.Own, Own{In: -time.Duration(k)*1500*time.Millisecond - time.Duration(serial), Cost: []int64{10, 0}})
		}
		if serial == 1 {
			r.Own = append(r.Own, Own{In: -time.Millisecond, Cost: []int64{0, 30}})
		}
		exchange(t, l, 100*time.Second, r)
	}
	l = again(t, l)
	told := map[string]int{}
	for _, o := range l.loss.parts {
		told[o.unit] += int(o.n)
	}
	if want := map[string]int{"": 1200, "tokens": 30}; !maps.Equal(told, want) || len(l.loss.parts) > mostTold {
		t.Errorf("%d parts are kept, in which %v were told, want %v", len(l.loss.parts), told, want)
	}
}

// TestToldPartsOfWindowsOfTheClock: what is still to come on both sides of the end of a window counts in both,
// also for a quota that comes before either; what has gone does not count for less.
func TestToldPartsOfWindowsOfTheClock(t *testing.T) {
	for _, c := range []struct{ first, second time.Duration }{{-100 * time.Millisecond, 100 * time.Millisecond}, {-900 * time.Millisecond, -100 * time.Millisecond}, {-100 * time.Millisecond, 800 * time.Millisecond}} {
		for _, turned := range []bool{false, true} {
			const end = 20 * time.Second // of a window, as Epoch is
			l := &Ledger{Epoch: time.Unix(1e9, 0)}
			l.Lose()
			now := end - 500*time.Millisecond
			r := request(quotas(t, "900/m log").Explicit(), 1)
			r.Own = []Own{{In: end + c.first - now, Cost: []int64{40}}, {In: end + c.second - now, Cost: []int64{20}}}
			if turned {
				slices.Reverse(r.Own)
			}
			exchange(t, l, now, r)
			l = again(t, l)
			due := map[bool]int{}
			for _, o := range l.loss.parts {
				due[time.Duration(o.at)-1 >= end] += int(o.n)
			}
			want := map[bool]int{c.first >= 0: 40}
			want[c.second >= 0] += 20
			for after, n := range want {
				if due[after] < n {
					t.Errorf("%v and %v, turned %v: %d count at or after the end of the window: %v, want %d at least", c.first, c.second, turned, due[after], after, n)
				}
			}
		}
	}
}

// TestToldPartsOfEveryUnit: however much was told of one unit, a quota of another one that comes after a loss
// is charged with what was told of that.
func TestToldPartsOfEveryUnit(t *testing.T) {
	for _, seconds := range []int64{1, mostTold - 1, mostTold, mostTold + 1} {
		l := &Ledger{Epoch: time.Unix(1e9, 0)}
		l.Lose()
		send := func(at time.Duration, who, text string, own ...Own) *Reply {
			r := request(quotas(t, text).Explicit(), 1)
			r.Member, r.Own = who, own
			l = again(t, l)
			return exchange(t, l, at, r)
		}
		var own []Own
		for i := range seconds {
			own = append(own, Own{In: -time.Duration(i) * time.Second, Cost: []int64{7}})
		}
		send(2*time.Second, "a", "1000/2m log", own...)
		send(2*time.Second, "b", "500 tokens/20s log", Own{In: -100 * time.Millisecond, Cost: []int64{400}})
		send(3*time.Second, "late", "450 tokens/20s window grid, 1000/100s log")
		if len(l.loss.parts) > mostTold {
			t.Errorf("%d seconds of another unit: %d parts, want %d at most", seconds, len(l.loss.parts), mostTold)
		}
		r := send(19*time.Second, "later", "450 tokens/20s window grid, 1000/100s log")
		if r.Left[0] > 50 || r.Left[1] > 1000-7*seconds {
			t.Errorf("%d seconds of another unit: %d are left, want 50 and %d at most", seconds, r.Left, 1000-7*seconds)
		}
	}
}

// TestOfBeforeALoss: a Ledger that is again what it was before a loss lacks what was done meanwhile, as who was
// answered meanwhile knows. A life that is to begin tells nothing.
func TestOfBeforeALoss(t *testing.T) {
	for name, c := range map[string]struct {
		life int64 // beside that of the Ledger
		lost bool
	}{"the same": {0, false}, "an earlier one": {-1, false}, "a later one": {1, true}, "one of now": {int64(time.Second), true}, "one that is to begin": {int64(time.Second) + 1, false}} {
		l := &Ledger{}
		l.Lose()
		o := &losing{t: t, l: l, kind: quota.SlidingLog}
		was := o.send(time.Hour, 1, 0, true).Life
		o.life[1] += c.life
		if is := o.send(time.Hour+time.Second, 1, 0, false).Life; is != was && !c.lost || is == was && c.lost {
			t.Errorf("%s: life %d after %d", name, is, was)
		}
	}
}
