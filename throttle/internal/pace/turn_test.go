package pace

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// at is so long after the start.
func at(d time.Duration) monotime.Time { return start.Add(d) }

// ofTen is a known window of 20 in ten seconds, with a turn that began at the start.
func ofTen(t turn) window {
	t.from = start
	return window{size: 20, alike: 1, sudden: true, least: 9500 * time.Millisecond, most: 10500 * time.Millisecond, next: at(time.Hour), turn: t}
}

// TestTurnBegins: which request begins a turn or goes beyond it, when the next one is due, and whether it is
// known what may go.
func TestTurnBegins(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name   string
		turn   turn
		slack  time.Duration
		next   time.Duration // when a turn goes on
		now    time.Duration
		begins bool
		full   bool
		due    time.Duration // for one more
		open   bool
	}{
		{"some are left", turn{granted: 19}, 0, time.Hour, 9 * s, false, false, 9 * s, true},
		{"none is left", turn{granted: 20}, 0, time.Hour, 9 * s, false, false, 10 * s, true},
		{"the next one begins", turn{granted: 20}, 0, time.Hour, 10 * s, true, false, 10 * s, true},
		{"a little later", turn{granted: 20}, s / 2, time.Hour, 10 * s, false, false, 10*s + s/2, true},
		{"its first is on its way", turn{granted: 20, before: start}, 0, time.Hour, 10 * s, false, false, 10 * s, false},
		{"it was refused", turn{granted: 20, refused: at(s)}, 0, time.Hour, 10 * s, false, false, 10 * s, false},
		{"it was refused, and is not over", turn{granted: 20, refused: at(s)}, 0, time.Hour, 3 * s, false, false, 3 * s, false},
		{"it was refused, and would go on", turn{granted: 20, refused: at(s)}, 0, 2 * s, 3 * s, false, false, 3 * s, false},
		{"it goes on", turn{granted: 20, served: 20}, 0, 3 * s, 3 * s, false, true, 3 * s, true},
		{"it goes on once all are answered", turn{granted: 20, served: 19}, 0, 3 * s, 3 * s, false, true, 5 * s, true},
		{"or half of it is over", turn{granted: 20, served: 19}, 0, 3 * s, 6 * s, false, true, 6 * s, true},
		{"not yet", turn{granted: 20}, 0, 3 * s, 3*s - 1, false, false, 10 * s, true},
		{"it has gone on", turn{granted: 20, beyond: true}, 0, 3 * s, 10 * s, false, false, 10 * s, false},
		{"it has gone on, and not been refused", turn{granted: 20, beyond: true}, 0, time.Hour, 4 * s, false, false, 4 * s, false},
	} {
		w := ofTen(test.turn)
		w.slack, w.next = test.slack, at(test.next)
		if begins, full, open := w.begins(at(test.now)), w.full(at(test.now), 1), w.open(); begins != test.begins || full != test.full || open != test.open {
			t.Errorf("%s: begins %v, full %v, open %v, want %v, %v, %v", test.name, begins, full, open, test.begins, test.full, test.open)
		}
		if alone := w.alone(at(test.now), 1); alone != (test.begins || test.full) {
			t.Errorf("%s: it goes alone: %v", test.name, alone)
		}
		if got := w.due(at(test.now), 1).Sub(start); got != test.due {
			t.Errorf("%s: one more goes after %v, want %v", test.name, got, test.due)
		}
	}
}

// TestTurnTake: a turn that begins takes back that turns were refused too soon, unless the one before it was.
func TestTurnTake(t *testing.T) {
	for stumbled, want := range map[bool]int{false: 0, true: 2} {
		w := ofTen(turn{granted: 20, stumbled: stumbled})
		w.stumbles = 2
		if w.take(at(10*time.Second), 3); w.stumbles != want || w.turn != (turn{from: start, before: start, granted: 3, since: 3}) {
			t.Errorf("stumbled %v: %d stumbles, %+v, want %d, and a turn of three", stumbled, w.stumbles, w.turn, want)
		}
	}
	w := ofTen(turn{refused: at(1)})
	if w.count(5); w.turn.served != 0 {
		t.Errorf("%d of a turn that was refused are served, want none", w.turn.served)
	}
}

// TestTurnServe: what becomes of a turn when a request is served.
func TestTurnServe(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name          string
		turn          turn
		now           time.Duration
		late, earlier bool
		unknown       bool
		want          turn
		alike         int
		most          time.Duration
	}{
		{"the first shows that the next window has begun", turn{before: start, granted: 3, since: 3}, 9800 * time.Millisecond, false, false, false, turn{from: at(9800 * time.Millisecond), granted: 3, since: 3, served: 1}, 1, 9800 * time.Millisecond},
		{"beyond, and it was refused before", turn{granted: 21, since: 1, served: 20, beyond: true, refused: at(9600 * time.Millisecond), least: 9600 * time.Millisecond}, 10 * s, false, false, false, turn{from: at(10 * s), granted: 1, served: 1}, 2, 10 * s},
		{"on its way at the refusal", turn{granted: 20, served: 10, refused: at(s)}, 9 * s, true, false, false, turn{from: start, granted: 20, served: 11, refused: at(s)}, 1, 10500 * time.Millisecond},
		{"one by one", turn{granted: 20, since: 3, served: 10, refused: at(s), near: true, beyond: true}, 7 * s, false, false, false, turn{from: start, granted: 13, since: 3, served: 11}, 1, 10500 * time.Millisecond},
		{"not one by one, as it was all", turn{granted: 20, since: 3, served: 20, refused: at(s), least: s}, 7 * s, false, false, false, turn{from: at(7 * s), granted: 3, served: 1}, 2, 7 * s},
		{"not one by one, as it is late", turn{granted: 20, since: 3, served: 19, refused: at(s), least: s}, 7500 * time.Millisecond, false, false, false, turn{from: at(7500 * time.Millisecond), granted: 3, served: 1}, 2, 7500 * time.Millisecond},
		{"not one by one, as no window is known", turn{granted: 20, since: 3, served: 10, refused: at(s), least: s}, 2 * s, false, false, true, turn{from: at(2 * s), granted: 3, served: 1}, 0, 2 * s},
		{"beyond, after more than half of it", turn{granted: 21, since: 1, served: 20, beyond: true}, 4751 * time.Millisecond, false, false, false, turn{from: at(4751 * time.Millisecond), granted: 1, served: 1}, 1, 10500 * time.Millisecond},
		{"beyond, after half of it", turn{granted: 21, since: 1, served: 20, beyond: true}, 4750 * time.Millisecond, false, false, false, turn{from: start, granted: 21, since: 1, served: 21, beyond: true}, 1, 10500 * time.Millisecond},
		{"beyond for two windows", turn{granted: 30, served: 29, beyond: true}, 21 * s, false, true, false, turn{from: start, granted: 30, served: 30, beyond: true}, 1, 10500 * time.Millisecond},
		{"beyond for longer", turn{granted: 30, served: 29, beyond: true}, 21*s + 1, false, true, false, turn{from: start, granted: 30, served: 30, beyond: true}, 0, 10500 * time.Millisecond},
		{"beyond for longer, and refused", turn{granted: 30, served: 29, beyond: true, refused: at(s)}, 21*s + 1, true, true, false, turn{from: start, granted: 30, served: 30, beyond: true, refused: at(s)}, 1, 10500 * time.Millisecond},
		{"for longer, and not beyond", turn{granted: 19, served: 18}, 21*s + 1, false, false, false, turn{from: start, granted: 19, served: 19}, 1, 10500 * time.Millisecond},
	} {
		w := ofTen(test.turn)
		if test.unknown {
			w.alike, w.sudden = 0, false
		}
		if w.serve(at(test.now), 1, Went{BeforeRefusal: test.late, BeforeAlone: test.earlier}); w.turn != test.want || w.alike != test.alike || w.most != test.most {
			t.Errorf("%s: %+v, %d alike, %v at most, want %+v, %d, %v", test.name, w.turn, w.alike, w.most, test.want, test.alike, test.most)
		}
	}
}

// TestTurnEnds: what a turn says of the window.
func TestTurnEnds(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name        string
		served      int
		fell        bool // the turn before had less
		lasted      time.Duration
		size, alike int
		wantFell    bool
		gap         time.Duration // to the turn that goes on; zero if that is left
		least, most time.Duration
	}{
		{"as many", 20, true, 10 * s, 20, 2, false, 0, 9500 * time.Millisecond, 10 * s},
		{"more", 25, false, 10 * s, 25, 1, false, firstUp, 9500 * time.Millisecond, 10 * s},
		{"nearly as many", 19, true, 10 * s, 19, 2, false, 0, 9500 * time.Millisecond, 10 * s},
		{"less", 18, false, 10 * s, 18, 1, true, firstGap, 9500 * time.Millisecond, 10 * s},
		{"less again", 18, true, 10 * s, 18, 0, false, 0, s, 10 * s},
		{"less than a row", leastRow - 1, false, 10 * s, leastRow - 1, 0, false, 0, s, 10 * s},
		{"as many, and sooner than the window lasts", 20, false, 9500 * time.Millisecond, 20, 2, false, 0, s, 9500 * time.Millisecond},
	} {
		w := ofTen(turn{granted: 20, served: test.served, refused: at(s), least: s})
		w.fell = test.fell
		now := at(test.lasted)
		w.end(now)
		next := at(time.Hour)
		if test.gap != 0 {
			next = now.Add(test.gap)
		}
		if w.size != test.size || w.alike != test.alike || w.fell != test.wantFell || w.next != next || w.gap != test.gap || w.least != test.least || w.most != test.most || w.sudden != (test.alike > 0) {
			t.Errorf("%s: %+v, want %+v", test.name, w, test)
		}
	}
	few := ofTen(turn{granted: 5, served: 5, refused: at(s), least: s})
	few.size, few.alike = 5, 0
	if few.end(at(10 * s)); few.gap != firstUp {
		t.Errorf("five in ten seconds are tried to go on after %v, want %v", few.gap, firstUp)
	}
	few.most = time.Minute
	if few.retry(start, firstUp); few.gap != firstTokens*12*s || few.next != start.Add(few.gap) {
		t.Errorf("five in a minute are tried to go on after %v, want as long as %d take", few.gap, firstTokens)
	}
	// A hint of two seconds is off by one of them at most: after it, a bucket would have had some.
	w := window{size: 20, turn: turn{from: start, granted: 20, served: 20}}
	w.refuse(at(s))
	w.hint(at(s), 2*s, s)
	if w.end(at(3 * s)); !w.known() || w.next != at(3*s+firstUp) {
		t.Errorf("%+v, want a window that is known, and tried to go on after %v", w, firstUp)
	}
}

// TestTurnIsSudden: what a bucket would not do.
func TestTurnIsSudden(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name                  string
		size, alike           int
		empty, waited, lasted time.Duration
		want                  bool
	}{
		{"a window", 20, 1, 5 * s, 9 * s, 10 * s, true},
		{"fewer than a row", leastRow - 1, 1, 9 * s, 9 * s, 10*s - 1, false},
		{"fewer than a row, for as long as a usual window", leastRow - 1, 2, 9 * s, 9 * s, 10 * s, true},
		{"fewer than a row, two times", leastRow - 1, 1, 9 * s, 9 * s, 10 * s, false},
		{"very few", fewRow, 2, 7 * s, 9 * s, 10 * s, true},
		{"of very few, a bucket would have had most", fewRow, 2, 6 * s, 9 * s, 10 * s, false},
		{"fewer than that", fewRow - 1, 2, 9 * s, 9 * s, 10 * s, false},
		{"less than a second", 20, 1, 9 * s / 10, 9 * s / 10, s - 1, false},
		{"a second", 20, 1, 9 * s / 10, 9 * s / 10, s, true},
		{"no look for most of the time", 20, 1, 9 * s / 4, 9 * s, 10 * s, false},
		{"a look for a little more", 20, 1, 9*s/4 + 1, 9 * s, 10 * s, true},
		{"a bucket would have had a few", 8, 1, 9 * s / 2, 9 * s, 10 * s, false},
		{"used up after half of it", 20, 1, 5 * s, 5 * s, 10 * s, false},
		{"used up after half of it, twice", 20, 2, 5 * s, 5 * s, 10 * s, true},
		{"used up after most of it, twice", 20, 2, 3 * s, 3 * s, 10 * s, false},
		{"used up after most of it, three times", 20, 3, 3 * s, 3 * s, 10 * s, true},
		{"used up after nearly all of it", 20, 3, 10 * s / 16, 10 * s / 16, 10 * s, false},
	} {
		w := window{size: test.size, alike: test.alike}
		if got := w.isSparse(test.empty, test.waited, test.lasted) && w.isSudden(test.waited, test.lasted); got != test.want {
			t.Errorf("%s: sudden %v, want %v", test.name, got, test.want)
		}
	}
}

// TestTurnIsRefused: a refusal long before the end is a stumble, of which three in a row end the belief; one of
// what goes beyond says when to try that again.
func TestTurnIsRefused(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name     string
		turn     turn
		gap      time.Duration
		after    time.Duration
		early    bool
		stumbles int
		want     time.Duration // gap
	}{
		{"far too soon", turn{served: 18}, 40 * s, s, true, 1, 40 * s},
		{"nearly as many", turn{served: 19}, 40 * s, s, false, 0, 40 * s},
		{"in the second half", turn{served: 10}, 40 * s, 5250 * time.Millisecond, false, 0, 40 * s},
		{"beyond", turn{served: 10, beyond: true}, 40 * s, s, false, 0, time.Minute},
		{"beyond, for the n-th time", turn{served: 20, beyond: true}, longestUp, s, false, 0, longestUp},
		{"its first", turn{served: 20, before: start}, 40 * s, s, false, 1, 40 * s},
	} {
		w := ofTen(test.turn)
		w.gap, w.turn.since = test.gap, 5
		w.refuse(at(test.after))
		if w.early() != test.early || w.stumbles != test.stumbles || w.gap != test.want || w.turn.refused != at(test.after) || w.turn.least != test.after || w.turn.since != 0 {
			t.Errorf("%s: early %v, %+v, want %v, %d stumbles, a gap of %v", test.name, w.early(), w, test.early, test.stumbles, test.want)
		}
		if test.turn.before != 0 && (w.turn.served != 20 || w.turn.granted != 20 || w.turn.from != start) {
			t.Errorf("%s: %+v, want the turn before, of which all are served", test.name, w.turn)
		}
	}
	w := ofTen(turn{})
	for i := range 3 {
		if !w.known() {
			t.Errorf("no window is known after %d turns that were refused too soon", i)
		}
		w.stumble()
	}
	if w.known() {
		t.Error("a window is known after three turns that were refused too soon")
	}
	var nothing window
	if nothing.refuse(start); nothing.turn != (turn{}) {
		t.Errorf("%+v, want nothing where nothing was served", nothing.turn)
	}
}

// TestTurnHint: when something is back at the soonest, as a hint says, which is off by its step, or by two
// where it is a date.
func TestTurnHint(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name          string
		turn          turn
		asked, step   time.Duration
		hinted, shown time.Duration
		near          bool
	}{
		{"nine seconds", turn{from: start}, 9 * s, s, 8 * s, 9 * s, false},
		{"nine seconds, in steps that are not known", turn{from: start}, 9 * s, 0, 8 * s, 9 * s, false},
		{"9.1 seconds, in steps that are not known", turn{from: start}, 9100 * time.Millisecond, 0, 10100 * time.Millisecond, 10100 * time.Millisecond, false},
		{"no more than a step", turn{from: start, hinted: s, shown: s}, s, s, s, s, false},
		{"now, after it has said more", turn{from: start, hinted: s, shown: s}, 0, s, 0, 0, true},
		{"now, again", turn{from: start, near: true}, 0, s, 0, 0, true},
		{"now, and it has never said more", turn{from: start}, 0, s, 0, 0, false},
		{"it does not say", turn{from: start, hinted: s, shown: s}, 0, 0, 0, 0, false},
		{"it says more again", turn{from: start, near: true}, 9 * s, s, 8 * s, 9 * s, false},
		{"nothing was served", turn{}, 9 * s, s, 0, 0, false},
	} {
		w := window{turn: test.turn}
		w.hint(at(s), test.asked, test.step)
		if got := w.turn; got.hinted != test.hinted || got.shown != test.shown || got.near != test.near {
			t.Errorf("%s: %+v, want %v, %v and near %v", test.name, got, test.hinted, test.shown, test.near)
		}
	}
}

// TestTurnLook: when to look after a refusal.
func TestTurnLook(t *testing.T) {
	const s = time.Second
	refused := turn{granted: 20, served: 20, refused: at(s)}
	unknown := func(w window) window { w.alike = 0; return w }
	bucket := unknown(ofTen(refused))
	bucket.sudden = false
	near := bucket
	near.turn.near = true
	more, less, nearly := unknown(ofTen(refused)), unknown(ofTen(refused)), unknown(ofTen(refused))
	more.turn.served, less.turn.granted, nearly.turn.served, nearly.turn.granted = 22, 18, 21, 19
	late, stumbled, first := ofTen(refused), ofTen(refused), unknown(ofTen(refused))
	late.slack, stumbled.stumbles, first.most = 200*time.Millisecond, 1, 0
	for _, test := range []struct {
		name string
		w    window
		now  time.Duration
		n    int
		hold time.Duration
		ok   bool
	}{
		{"a known window", ofTen(refused), s, 1, 9 * s, true},
		{"a little later", late, s, 1, 9200 * time.Millisecond, true},
		{"one that may be one", unknown(ofTen(refused)), s, 1, 9 * s, true},
		{"one that may be a bucket", bucket, s, 1, 0, false},
		{"one that has nearly as many", nearly, s, 1, 9 * s, true},
		{"one that has more", more, s, 1, 0, false},
		{"one that has less", less, s, 1, 0, false},
		{"no turn before it", first, s, 1, 0, false},
		{"nothing was refused", ofTen(turn{granted: 20, served: 20}), s, 1, 0, false},
		{"soon", near, s, 9, 0, true},
		{"soon, and it is known when", ofTen(turn{granted: 20, served: 20, refused: at(s), near: true}), s, 1, 9 * s, true},
		{"soon, and it was to have begun", ofTen(turn{granted: 20, served: 20, refused: at(s), near: true}), 20 * s, 1, 0, true},
		{"refused too soon", ofTen(turn{granted: 20, served: 10, refused: at(s)}), s, shortLooks, 0, true},
		{"refused too soon, for the third time", ofTen(turn{granted: 20, served: 10, refused: at(s)}), s, shortLooks + 1, 9 * s, true},
		{"long over", ofTen(refused), 20 * s, 1, 0, false},
		{"long over, and others were refused too soon", stumbled, 20 * s, 1, 0, true},
	} {
		if hold, ok := test.w.look(at(test.now), test.n); hold != test.hold || ok != test.ok {
			t.Errorf("%s: a look after %v, %v, want %v, %v", test.name, hold, ok, test.hold, test.ok)
		}
	}
}
