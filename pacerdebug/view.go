package pacerdebug

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/logline"
	"github.com/gopacer/pacer/internal/visible"
	"github.com/gopacer/pacer/throttle"
)

// view is what the page shows, as JSON. Durations are in milliseconds. A field that is missing is zero.
type view struct {
	Read      time.Time `json:"read"`                // when the Transport was read
	Took      float64   `json:"took"`                // how long that took
	Traced    bool      `json:"traced"`              // there is a Trace, so there are charts: it was asked for, and is told what happens
	Uncharted bool      `json:"uncharted,omitempty"` // there are buckets without charts, since there are too many
	Stats     stats     `json:"stats"`
	Minute    *chart    `json:"minute,omitempty"` // of all buckets
	Found     int       `json:"found"`            // buckets that match the search
	Rows      []row     `json:"rows"`             // the first of them
	Open      *detail   `json:"open,omitempty"`
}

// stats are the numbers of a Transport.
type stats struct {
	Buckets  int   `json:"buckets"`
	Held     int   `json:"held"`
	Waiting  int   `json:"waiting"`
	InFlight int   `json:"inFlight"`
	Waits    int64 `json:"waits"`
	Waited   int64 `json:"waited"`
	NotSent  int64 `json:"notSent"`
	Refused  int64 `json:"refused"`
	Retried  int64 `json:"retried"`
	GaveUp   int64 `json:"gaveUp"`
}

// chart is the last minute: sums, and the numbers of each second, the present one last. What is zero throughout
// is missing.
type chart struct {
	Went        uint32  `json:"went"`
	Refused     uint32  `json:"refused"` // by the server
	Failed      uint32  `json:"failed"`  // not sent, or not sent again
	Waits       uint32  `json:"waits"`   // that are over
	Waited      int64   `json:"waited"`  // all of them together
	Longest     int64   `json:"longest"`
	WentEach    []int64 `json:"wentEach,omitempty"`
	RefusedEach []int64 `json:"refusedEach,omitempty"` // with those that failed
	LongestEach []int64 `json:"longestEach,omitempty"`
}

// row is a bucket.
type row struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Trouble   string   `json:"trouble,omitempty"`
	Observe   bool     `json:"observe,omitempty"`
	Waiting   int      `json:"waiting"`
	InFlight  int      `json:"inFlight"`
	SlowStart int      `json:"slowStart,omitempty"`
	Hold      *hold    `json:"hold,omitempty"`
	Next      *next    `json:"next,omitempty"` // what a request would wait for; missing if it would go
	Limits    []level  `json:"limits,omitempty"`
	MoreThan  int      `json:"moreThan,omitempty"` // how many limits are shown, if there are more
	Beliefs   []string `json:"beliefs,omitempty"`
	Budget    budget   `json:"budget"`
	Store     *members `json:"store,omitempty"`
	Minute    *chart   `json:"minute,omitempty"`
}

type hold struct {
	For    int64 `json:"for"`
	Status int   `json:"status,omitempty"` // of the answer that began it
	Ago    int64 `json:"ago,omitempty"`    // how long ago that was
}

type next struct {
	In     int64  `json:"in"`
	Never  string `json:"never,omitempty"` // why it would never go
	Cause  string `json:"cause,omitempty"`
	Quota  string `json:"quota,omitempty"`
	Bucket string `json:"bucket,omitempty"` // unless it is this one
	Advice string `json:"advice,omitempty"`
}

type level struct {
	Quota     string  `json:"quota"`
	Of        string  `json:"of,omitempty"` // which of several of that name
	Unit      string  `json:"unit,omitempty"`
	Limit     int64   `json:"limit,omitempty"`
	Available int64   `json:"available"`
	Reset     int64   `json:"reset,omitempty"`
	Rate      float64 `json:"rate,omitempty"`
	Stated    bool    `json:"stated,omitempty"`
	Past      bool    `json:"past,omitempty"` // what was available at the latest answer may be back, and delays nothing
}

type budget struct {
	Left float64 `json:"left"`
	Of   float64 `json:"of"`
}

type members struct {
	Members int    `json:"members"`
	Hand    int64  `json:"hand"`
	Down    int64  `json:"down,omitempty"`
	Error   string `json:"error,omitempty"`
}

// detail is what is shown of the bucket that is open.
type detail struct {
	ID     string    `json:"id"`
	Line   []inLine  `json:"line,omitempty"`   // the first of those who wait, in the order of arrival
	Known  int       `json:"known,omitempty"`  // how many are known
	Causes []forWhat `json:"causes,omitempty"` // of the waits of the last minute
	Past   []ended   `json:"past,omitempty"`   // the latest first
}

type inLine struct {
	Number uint64  `json:"number"`
	Method string  `json:"method"`
	Of     string  `json:"of,omitempty"` // the bucket of the request, unless it is this one
	Since  int64   `json:"since"`
	Told   forWhat `json:"told"` // when it came
}

type ended struct {
	Ago    int64     `json:"ago"`
	Method string    `json:"method"`
	How    string    `json:"how,omitempty"`
	Wait   int64     `json:"wait"`
	For    []forWhat `json:"for,omitempty"`
}

type forWhat struct {
	For    int64  `json:"for"`
	Cause  string `json:"cause"`
	Quota  string `json:"quota,omitempty"`
	Bucket string `json:"bucket,omitempty"` // unless it is this one
}

// snapshot is what a Transport said last. It does not change.
type snapshot struct {
	at      time.Time
	took    time.Duration
	stats   pacer.Stats
	budgets map[string]float64 // how many retries are left, by label
	buckets []bucket           // what hurts first
	labels  map[string]string  // by name
	alike   map[string]int     // how many buckets have a label
}

// bucket is a bucket in a snapshot.
type bucket struct {
	state  throttle.State
	id     string
	name   string // as it is shown
	minute second // sums
	hurts  float64
}

// How often a Transport is read, at most.
const (
	fresh = 900 * time.Millisecond // somewhat less than what is between two events
	share = 20                     // of the time, one part is spent with reading
)

// snapshot returns what the Transport says now, or said a moment ago.
func (p *Page) snapshot() *snapshot {
	p.reading.Lock()
	defer p.reading.Unlock()
	if s := p.latest; s != nil && time.Since(s.at) < max(fresh, share*s.took) {
		return s
	}
	s := &snapshot{at: time.Now(), stats: p.Transport.Stats(), budgets: p.Transport.RetryBudgets()}
	states := p.Transport.State()
	s.buckets = make([]bucket, len(states))
	ids := make(map[string]int, len(states))
	s.labels, s.alike = make(map[string]string, len(states)), make(map[string]int, len(states))
	for i := range states {
		b := &s.buckets[i]
		*b = bucket{state: states[i], name: p.called(states[i].Bucket, states[i].Label), id: visible.Digest(states[i].Bucket)}
		s.labels[states[i].Bucket] = states[i].Label
		s.alike[states[i].Label]++
		if ids[b.id]++; ids[b.id] > 1 {
			b.id += "-" + strconv.Itoa(ids[b.id]) // two names that were cut may be alike
		}
	}
	p.sumUp(s.buckets)
	slices.SortStableFunc(s.buckets, func(a, b bucket) int { return cmp.Compare(b.hurts, a.hurts) })
	s.took = time.Since(s.at)
	p.latest = s
	return s
}

// sumUp notes the last minute of buckets, and how much they hurt.
func (p *Page) sumUp(buckets []bucket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sec := p.record.second(time.Now())
	for i := range buckets {
		b := &buckets[i]
		if h := p.record.buckets[b.state.Bucket]; h != nil {
			b.minute = h.sum(sec)
		}
		b.hurts = hurts(&b.state, &b.minute)
	}
}

// hurts is about how many seconds requests lose in a minute: those that they wait, with a refusal for one, and
// a request that is not sent for ten.
func hurts(s *throttle.State, m *second) float64 {
	lost := m.waited.Seconds() + float64(m.refused) + 10*float64(m.failed)
	lost += float64(s.Waiting) * max(1, min(s.Next.Wait.Seconds(), span))
	lost += min(s.Held.Seconds(), span)
	if s.Next.Never {
		lost += span
	}
	if s.Store != nil && s.Store.Err != nil {
		lost += span
	}
	return lost
}

// tenant is what the name of a bucket has behind its label, if there is a Transport.Key.
var tenant = regexp.MustCompile(`^ for [0-9a-f]{12}$`)

// called returns what a bucket is called on the page.
func (p *Page) called(name, label string) string {
	rest, found := strings.CutPrefix(name, label)
	switch {
	case p.Names, found && (rest == "" || tenant.MatchString(rest)):
		return visible.Text(name, 2*maxText)
	}
	return visible.Text(label, 2*maxText) + " #" + visible.Digest(name)[:6]
}

// other returns what another bucket is called on the page of one; empty if it is the same.
func (p *Page) other(than, name, label string) string {
	switch {
	case name == "" || name == than:
		return ""
	case label == "": // it was forgotten since
		return "another bucket"
	}
	return p.called(name, label)
}

// view returns what the page shows.
func (p *Page) view(w wish) *view {
	s := p.snapshot()
	v := &view{
		Read: s.at.UTC(), Took: float64(s.took) / float64(time.Millisecond), Rows: []row{},
		Stats: stats{
			Buckets: s.stats.Buckets, Held: s.stats.Held, Waiting: s.stats.Waiting, InFlight: s.stats.InFlight,
			Waits: s.stats.WaitCount, Waited: milliseconds(s.stats.WaitDuration), NotSent: s.stats.NotSent,
			Refused: s.stats.Refused, Retried: s.stats.Retried, GaveUp: s.stats.GaveUp,
		},
	}
	found := s.find(w.search)
	v.Found = len(found)
	arrange(found, w.sort)
	shown := found[:min(len(found), w.rows)]
	if i := slices.IndexFunc(s.buckets, func(b bucket) bool { return b.id == w.open }); i >= 0 && !slices.Contains(shown, &s.buckets[i]) {
		shown = append(slices.Clip(shown), &s.buckets[i]) // what is open stays
	}
	full := (&backoff.Budget{}).Balance()
	for _, b := range shown {
		r := p.row(b)
		r.Budget = budget{full, full}
		if left, ok := s.budgets[b.state.Label]; ok {
			r.Budget.Left = left
		}
		v.Rows = append(v.Rows, r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	sec := p.record.second(now)
	happened := s.stats.WaitCount + s.stats.NotSent + s.stats.Refused + s.stats.Retried + s.stats.GaveUp
	v.Traced = p.traced.Load() && (p.record.any || happened == 0)
	v.Minute, v.Uncharted = p.record.all.chart(sec), len(p.record.buckets) >= maxCharted
	for i, b := range shown {
		p.heard(&v.Rows[i], b, now, sec)
		if b.id == w.open {
			v.Open = p.detail(s, b, now, sec)
		}
	}
	return v
}

// find returns the buckets whose name, or cause of waits, has a text in it.
func (s *snapshot) find(text string) []*bucket {
	text = strings.ToLower(strings.TrimSpace(text))
	var found []*bucket
	for i := range s.buckets {
		b := &s.buckets[i]
		if text == "" || strings.Contains(strings.ToLower(b.name), text) || strings.Contains(words(b.state.Next.Cause), text) {
			found = append(found, b)
		}
	}
	return found
}

// arrange puts buckets in another order than that of what hurts first.
func arrange(all []*bucket, by string) {
	switch by {
	case "name":
		slices.SortStableFunc(all, func(a, b *bucket) int { return cmp.Compare(a.name, b.name) })
	case "line":
		slices.SortStableFunc(all, func(a, b *bucket) int { return cmp.Compare(b.state.Waiting, a.state.Waiting) })
	case "traffic":
		slices.SortStableFunc(all, func(a, b *bucket) int { return cmp.Compare(b.minute.went, a.minute.went) })
	}
}

const (
	maxLimits = 20  // of a bucket, on the page
	maxBelief = 400 // bytes of what is believed of one
)

// row returns what a Transport says of a bucket.
func (p *Page) row(b *bucket) row {
	s := &b.state
	r := row{ID: b.id, Name: b.name, Trouble: b.trouble(), Waiting: s.Waiting, InFlight: s.InFlight, SlowStart: s.SlowStart}
	if s.Held > 0 {
		r.Hold = &hold{For: milliseconds(s.Held)}
	}
	if f := &s.Next; f.Cause != "" || f.Never {
		r.Next = &next{
			In: milliseconds(f.Wait), Cause: words(f.Cause), Quota: clip(f.Quota), Bucket: p.other(s.Bucket, f.Bucket, f.Label), Advice: logline.Advice(f.Cause, f.Quota),
		}
		if f.Never {
			r.Next.Never = never(f.Err)
		}
	}
	for _, l := range s.Limits[:min(len(s.Limits), maxLimits)] {
		if l.Counter == l.Quota {
			l.Counter = ""
		}
		past := l.Stated && l.Reset == 0 && l.Available < max(l.Limit, 1) && r.Next == nil
		r.Limits = append(r.Limits, level{clip(l.Quota), clip(l.Counter), clip(l.Unit), l.Limit, l.Available, milliseconds(l.Reset), l.Rate, l.Stated, past})
	}
	if len(s.Limits) > maxLimits {
		r.MoreThan = maxLimits
	}
	for _, text := range s.Beliefs[:min(len(s.Beliefs), maxLimits)] {
		r.Beliefs = append(r.Beliefs, visible.Text(text, maxBelief))
	}
	if s.Store != nil {
		r.Store = &members{Members: s.Store.Members, Hand: s.Store.Hand, Down: milliseconds(s.Store.Down), Error: logline.Kind(s.Store.Err)}
	}
	return r
}

// trouble is what is wrong with a bucket, in a word; empty if nothing is.
func (b *bucket) trouble() string {
	s := &b.state
	switch {
	case s.Next.Never:
		return "blocked"
	case s.Store != nil && s.Store.Err != nil:
		return "store"
	case b.minute.failed > 0:
		return "failing"
	case s.Held > 0:
		return "held"
	case b.minute.refused > 0:
		return "refused"
	case s.Waiting > 0:
		return "waiting"
	}
	return ""
}

// words is a cause as the page shows it.
func words(c throttle.Cause) string { return strings.ReplaceAll(string(c), "_", " ") }

// never is why nothing goes.
func never(err error) string {
	for _, known := range []error{throttle.ErrTooLarge, throttle.ErrUnit, throttle.ErrClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "the configuration is invalid"
}

// heard adds to a row what the Trace has heard of the bucket. It requires that p.mu is held.
func (p *Page) heard(r *row, b *bucket, now time.Time, sec int64) {
	h := p.record.buckets[b.state.Bucket]
	if h == nil {
		return
	}
	r.Minute, r.Observe = h.chart(sec), h.observe
	if r.Hold != nil && now.Before(h.heldUntil) { // else somebody else began it
		r.Hold.Status, r.Hold.Ago = h.heldStatus, milliseconds(now.Sub(h.heldAt))
	}
}

const maxShown = 20 // requests in line, on the page

// detail returns what was heard of those who wait and waited. It requires that p.mu is held.
func (p *Page) detail(s *snapshot, b *bucket, now time.Time, sec int64) *detail {
	d := &detail{ID: b.id}
	name, label := b.state.Bucket, b.state.Label
	first := make([]waiter, 0, maxShown+1)
	for _, w := range p.record.inLine {
		// What stands in its way is this bucket, or another one, while the request is one of this bucket's. Of
		// buckets with one label it is not known whose it is.
		if w.told.Bucket != name && (w.label != label || s.alike[label] != 1) {
			continue
		}
		d.Known++
		i, _ := slices.BinarySearchFunc(first, w.number, func(f waiter, number uint64) int { return cmp.Compare(f.number, number) })
		first = slices.Insert(first, i, w)
		first = first[:min(len(first), maxShown)]
	}
	for _, w := range first {
		w.told.Label = s.labels[w.told.Bucket]
		in := inLine{Number: w.number, Method: w.method, Since: milliseconds(now.Sub(w.since)), Told: p.forWhat(name, w.told)}
		if w.label != label {
			in.Of = clip(w.label)
		}
		d.Line = append(d.Line, in)
	}
	h := p.record.buckets[name]
	if h == nil {
		return d
	}
	for k, sum := range h.waitedFor(sec) {
		if sum > 0 {
			cause := "other"
			if k < len(kinds) {
				cause = words(kinds[k])
			}
			d.Causes = append(d.Causes, forWhat{For: milliseconds(sum), Cause: cause})
		}
	}
	slices.SortStableFunc(d.Causes, func(a, b forWhat) int { return cmp.Compare(b.For, a.For) })
	for _, w := range slices.Backward(h.past) {
		e := ended{Ago: milliseconds(now.Sub(w.at)), Method: w.method, How: w.how, Wait: milliseconds(w.wait)}
		for _, part := range w.parts {
			e.For = append(e.For, p.forWhat(name, part))
		}
		d.Past = append(d.Past, e)
	}
	return d
}

// forWhat returns a wait, as it is shown with a bucket.
func (p *Page) forWhat(with string, w throttle.Wait) forWhat {
	return forWhat{milliseconds(w.For), words(w.Cause), clip(w.Quota), p.other(with, w.Bucket, w.Label)}
}
