package adaptive

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/overload"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// Memory is what a Server has learned, as data: it may be written as JSON and given to the Server of a later
// run of the program (Server.Memory, Server.Remember). Waiting requests are not part of it.
type Memory struct {
	// Held is until when nothing goes. Zero if it was not held.
	Held time.Time `json:"held,omitzero"`

	// Windows are the limits that the server spoke of.
	Windows windowMemories `json:"windows,omitempty"`

	// Rate is the rate in requests per second at which the server serves while it states no
	// limits; Growth is the share of Rate by which it grows per second. Zero if the rate is not known.
	Rate   float64 `json:"rate,omitzero"`
	Growth float64 `json:"growth,omitzero"`

	// Former is the highest rate that was served for long, which is tried again after a fall. Burst is how many
	// requests the server serves at once, beyond Rate, when it has idled. Both are zero if they are not known.
	// FailuresRefuse says that failures without explanation were seen to be refusals.
	Former         float64 `json:"former,omitzero"`
	Burst          int     `json:"burst,omitzero"`
	FailuresRefuse bool    `json:"failuresRefuse,omitzero"`

	// UpNext is when more than Rate is tried, and UpGap from the latest such trial to that one.
	UpNext time.Time     `json:"upNext,omitzero"`
	UpGap  time.Duration `json:"upGap,omitzero"`

	// Silent is a window or a log that the server does not state; nil if none is known. A Lesson leaves these
	// three out: it has no instants, and the part that this process has of a window is not that of others.
	Silent *SilentMemory `json:"silent,omitempty"`

	// Used is what was charged to the quotas of the bucket. A Server leaves it alone.
	Used allUsed `json:"used,omitempty"`

	// Together is what package together knows: which requests are counted together. A Server leaves it alone as
	// well.
	Together json.RawMessage `json:"together,omitempty"`

	// At is when all this was known, and the instant of Rate.
	At time.Time `json:"at,omitzero"`

	// Members is how many processes share the bucket, zero if that is not known: see Lesson. It is not written.
	Members int `json:"-"`
}

// SilentMemory is a window or a log that nobody states: see pace.Limit.
type SilentMemory struct {
	Size   int           `json:"size"`
	Slides bool          `json:"slides,omitzero"`
	Least  time.Duration `json:"least"`
	Most   time.Duration `json:"most"`
	Slack  time.Duration `json:"slack,omitzero"`
	Next   time.Time     `json:"next,omitzero"`
	Gap    time.Duration `json:"gap"`
	Went   allPast       `json:"went,omitempty"`
}

// PastMemory is so many requests that went at an instant.
type PastMemory struct {
	At time.Time `json:"at"`
	N  int       `json:"n"`
}

// silentMemory returns what is kept of a limit, nil if there is none.
func silentMemory(l *pace.Limit, clock *monotime.Clock) *SilentMemory {
	if l.Size == 0 {
		return nil
	}
	m := &SilentMemory{Size: l.Size, Slides: l.Slides, Least: l.Least, Most: l.Most, Slack: l.Slack, Next: clock.Date(l.Next), Gap: l.Gap}
	for _, p := range l.Went {
		m.Went = append(m.Went, PastMemory{clock.Date(p.At), p.N})
	}
	return m
}

// limit is what was kept of it.
func (m *SilentMemory) limit(clock *monotime.Clock) (l pace.Limit) {
	if m == nil {
		return l
	}
	l = pace.Limit{Size: m.Size, Slides: m.Slides, Least: m.Least, Most: m.Most, Slack: m.Slack, Next: clock.At(m.Next), Gap: m.Gap}
	for _, p := range m.Went {
		l.Went = append(l.Went, pace.Past{At: clock.At(p.At), N: p.N})
	}
	return l
}

// moved returns m with other instants.
func (m *SilentMemory) moved(to func(t time.Time) time.Time) *SilentMemory {
	if m == nil {
		return nil
	}
	another := *m
	another.Next, another.Went = to(m.Next), slices.Clone(m.Went)
	for i := range another.Went {
		another.Went[i].At = to(m.Went[i].At)
	}
	return &another
}

// How long what was learned is kept for a bucket that nobody asks for.
const (
	rateKept = pace.Kept     // a rate, or a price
	kept     = longestWindow // all else, if its reset or its end is so far away
)

// Prune takes out of m what is out of date, and reports whether anything is left. Out of date are
//
//   - what remains of a limit whose reset is not known or has passed: its Habits are left;
//   - a hold that is over;
//   - rates and prices that are a day old;
//   - and all that is a month old, but for Used, whose quotas have spans of their own.
//
// If At is zero, m is taken to be of now. If At is still to come, the clock that told it was ahead, or was set
// back since: then all instants of m move back by as much.
func (m *Memory) Prune(now time.Time) (left bool) {
	if m.At.IsZero() {
		m.At = now
	}
	m.Windows = slices.Clone(m.Windows)
	if ahead := m.At.Sub(now); ahead > 0 {
		m.setBack(ahead)
		m.At = now
	}
	m.Used = limit.Pruned(m.Used, now)
	age := now.Sub(m.At)
	if age >= kept {
		*m = Memory{At: m.At, Used: m.Used}
		return len(m.Used) > 0
	}
	if age >= rateKept || !pace.Sane(m.Rate) {
		m.Rate, m.Growth, m.Former, m.Burst, m.UpNext, m.UpGap, m.Silent = 0, 0, 0, 0, time.Time{}, 0, nil
	}
	if !m.Held.After(now) {
		m.Held = time.Time{}
	}
	if len(m.Together) > maxTogether {
		m.Together = nil
	}
	for i := range m.Windows {
		m.Windows[i].prune(now, age)
	}
	m.Windows = slices.DeleteFunc(m.Windows, func(w WindowMemory) bool {
		return w.Late.IsZero() && !w.any() || len(w.Name)+len(w.Counter)+len(w.Unit) > 3*maxKeptName
	})
	m.Windows = m.Windows[:min(len(m.Windows), maxWindows)]
	return m.Any()
}

// setBack moves the instants back of a hold and of resets. What would lie before the year 1 is not known: only
// a hostile text has it, and JSON has no such years, so that nothing could be written any more.
func (m *Memory) setBack(ahead time.Duration) {
	back := func(t time.Time) time.Time {
		if t = t.Add(-ahead); t.Year() < 1 {
			return time.Time{}
		}
		return t
	}
	for i := range m.Windows {
		w := &m.Windows[i]
		w.Early, w.Late = back(w.Early), back(w.Late)
	}
	m.Held, m.UpNext, m.Silent = back(m.Held), back(m.UpNext), m.Silent.moved(back)
}

// prune takes out what is out of date of a limit that was stated so long ago.
func (m *WindowMemory) prune(now time.Time, age time.Duration) {
	if !m.Late.After(now) {
		m.Remaining, m.Early, m.Late, m.Began, m.BeganWithin = 0, time.Time{}, time.Time{}, 0, 0
	}
	if age >= rateKept {
		m.forgetRates()
	}
}

// Any reports whether m has anything.
func (m *Memory) Any() bool {
	return len(m.Windows) > 0 || m.Rate > 0 || m.FailuresRefuse || !m.Held.IsZero() || len(m.Used) > 0 || len(m.Together) > 0
}

// maxTogether bounds the bytes of Memory.Together.
const maxTogether = 64 << 10

// maxKeptName bounds a name in what is read: together.Short sees to it that none is longer.
const maxKeptName = 256

// Memory returns what s has learned. What is in flight counts as used.
func (s *Server) Memory(now monotime.Time, clock *monotime.Clock) (m Memory) {
	for _, w := range s.windows {
		early, late := w.reset.early, w.reset.late
		if w.seek.most > 0 && late <= now {
			early, late = w.seek.from.Add(w.seek.least), w.seek.from.Add(w.seek.most)
		}
		wm := WindowMemory{
			Name: w.name, Counter: w.counter, Unit: w.unit, Limit: w.stated, Remaining: max(w.remaining-s.inFlightOn(w), 0),
			Early: clock.Date(early), Late: clock.Date(late),
			Resolution: w.reset.resolution, Span: w.span, Habits: w.habits(w.heardAt),
		}
		if r := &w.reset; r.resolution > 0 && r.opened != 0 && r.late > now { // see guessWholeSteps
			wm.Began, wm.BeganWithin = r.late.Sub(r.opened), r.halfRoundTrip
		}
		m.Windows = append(m.Windows, wm)
	}
	m.Windows = append(m.Windows, s.kept[:min(len(s.kept), maxWindows-len(m.Windows))]...)
	m.FailuresRefuse, m.Members = s.overload.Belief() == overload.MeanRefusal, s.members
	if p, known := s.pace.Memory(s.inFlight); known {
		for _, w := range s.windows {
			p.At = max(p.At, w.heardAt) // what remains is of then, see Remember
		}
		m.Rate, m.Growth, m.Former, m.Burst, m.At = p.Rate, p.Growth, p.Former, p.Burst, clock.Date(p.At)
		m.UpNext, m.UpGap, m.Silent = clock.Date(p.UpNext), p.UpGap, silentMemory(&p.Limit, clock)
	}
	return m
}

// Fresh reports whether s has learned nothing yet.
func (s *Server) Fresh() bool {
	return len(s.windows) == 0 && s.pace.Fresh() && s.refusals == 0
}

// Remember takes over m as what s has learned, if s is Fresh. Of windows whose reset has passed by the clock,
// only the habits are taken over; a rate that is older than rateKept is not. No number in m can do more harm
// than a statement of a server, which holds requests back, for at most MaxHold before a look goes. Known
// reports whether a rate was taken over, so that the bucket is not new any more.
func (s *Server) Remember(now monotime.Time, m *Memory, clock *monotime.Clock) (known bool) {
	if !s.Fresh() {
		return false
	}
	for i := range m.Windows[:min(len(m.Windows), maxWindows)] {
		s.keep(&m.Windows[i])
	}
	for i := range m.Windows[:min(len(m.Windows), maxWindows)] {
		h := m.Windows[i].hearsay(clock)
		if !m.At.IsZero() {
			h.heard = clock.At(m.At)
		}
		s.restore(now, h)
	}
	if m.FailuresRefuse {
		s.overload.Believe()
	}
	if len(s.windows) > 0 {
		return false
	}
	p := pace.Memory{Rate: m.Rate, Growth: m.Growth, At: clock.At(m.At), Former: m.Former, Burst: m.Burst, UpNext: clock.At(m.UpNext), UpGap: m.UpGap, Limit: m.Silent.limit(clock)}
	known, atOnce := s.pace.Resume(now, &p, slowestRate(s.config.MaxHold))
	if atOnce {
		s.Restart(false)
	}
	return known
}

// hearsay returns what m says of a limit, by instants.
func (m *WindowMemory) hearsay(clock *monotime.Clock) *hearsay {
	h := &hearsay{
		limitName: m.of(), limit: m.Limit, remaining: m.Remaining,
		span: m.Span, unstated: min(max(m.BackWithin, 0), longestWindow),
		reset: reset{early: clock.At(m.Early), late: clock.At(m.Late), resolution: m.Resolution},
	}
	if r := &h.reset; m.Began > 0 {
		r.opened, r.halfRoundTrip = r.late.Add(-min(m.Began, longestWindow)), min(max(m.BeganWithin, 0), longestWindow)
	}
	return h
}

// windowMemories, allUsed and allPast are lists of which no more is read than is kept: what is made of an
// element takes hundreds of times the memory of its text, `{}`.
type (
	windowMemories []WindowMemory
	allUsed        []limit.Used
	allPast        []PastMemory
)

func (w *windowMemories) UnmarshalJSON(text []byte) error {
	return firstOf(text, maxWindows, (*[]WindowMemory)(w))
}

func (u *allUsed) UnmarshalJSON(text []byte) error {
	return firstOf(text, limit.MaxUsed, (*[]limit.Used)(u))
}

func (p *allPast) UnmarshalJSON(text []byte) error {
	return firstOf(text, pace.MaxPast, (*[]PastMemory)(p))
}

// firstOf reads the first elements of a list, so many at most. It does not know where in a bucket the list
// stands.
func firstOf[T any](text []byte, most int, all *[]T) (err error) {
	defer func() {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			wrong.Value, wrong.Offset = wrong.Value+" as or in a list of the bucket", 1
		}
	}()
	if len(text) <= shortList || !bytes.HasPrefix(text, []byte("[")) {
		if err = json.Unmarshal(text, all); len(*all) > most {
			*all = slices.Clone((*all)[:most])
		}
		return err
	}
	*all = nil
	d := json.NewDecoder(bytes.NewReader(text))
	for _, err = d.Token(); err == nil && d.More() && len(*all) < most; {
		var one T
		if err = d.Decode(&one); err == nil {
			*all = append(*all, one)
		}
	}
	return err
}

// shortList is how many bytes of a list are read at once, which takes half of the time, and some megabytes at
// most.
const shortList = 16 << 10
