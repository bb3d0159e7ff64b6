package store

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

// version is of what AppendBinary writes.
const version = 18

// AppendBinary implements encoding.BinaryAppender: it appends all that the Ledger knows. Epoch is
// part of it. The error is always nil.
func (l *Ledger) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, version)
	b = varint.Append(b, l.Epoch.UnixNano())
	b = varint.AppendBool(b, l.known, l.lost, l.fresh)
	b = varint.Append(b, int64(l.slotLife), int64(l.rose), int64(l.horizon))
	b = varint.Append(b, int64(l.asked.longest), int64(l.asked.second), int64(l.asked.at))
	b = varint.Append(b, l.lastSlot, l.told, l.heldUntil, l.lastUsed)
	b = varint.Append(b, int64(l.served), int64(l.born), int64(l.learnsUntil), int64(l.unheard))
	b = varint.AppendBool(b, l.cut)
	b = varint.Append(b, int64(l.loss.had), int64(l.loss.told), int64(l.parted))
	b = varint.Append(b, len(l.loss.parts))
	for _, o := range l.loss.parts {
		b = varint.Append(b, o.at)
		b = varint.AppendString(b, o.unit)
		b = varint.Append(b, o.n)
	}
	b = varint.Append(b, len(l.places))
	for p := range l.places {
		o := &l.places[p]
		b = appendQuota(b, &o.quota)
		b = varint.Append(b, int64(o.noneBefore), int64(o.asked), o.spare, o.part)
		b = varint.Append(b, int64(o.slotLife.slotLife), int64(o.slotLife.falls), int64(o.slotLife.to))
		b = varint.Append(b, o.larger.n, int64(o.larger.till))
		b = o.ledger.Append(b)
	}
	b = varint.Append(b, len(l.returned))
	for _, o := range l.returned {
		b = varint.Append(b, int64(o.at), int64(len(o.cost)))
		b = varint.Append(b, o.cost...)
	}
	b = varint.Append(b, len(l.members))
	for _, name := range slices.Sorted(maps.Keys(l.members)) {
		m := l.members[name]
		b = varint.AppendString(b, name)
		b = varint.Append(b, m.serial, m.lost, int64(m.at), int64(m.slotLife), int64(m.activeTill), int64(m.knownTill))
		b = varint.AppendBool(b, m.goesOn, m.had)
		got := m.got
		if !m.mayRepeat(l.lastUsed) {
			got = nil
		}
		b = appendRuns(b, got, m.at)
	}
	b = varint.Append(b, len(l.statements))
	for i := range l.statements {
		b = appendStatement(b, &l.statements[i])
	}
	b = varint.Append(b, len(l.lists))
	for _, o := range l.lists {
		b = varint.Append(b, o.at)
		b = varint.AppendString(b, o.by)
		b = varint.Append(b, len(o.quotas))
		for i := range o.quotas {
			b = appendQuota(b, &o.quotas[i])
		}
	}
	if l.learned != "" { // a Ledger without it is read by those that do not know of it
		b = varint.Append(b, l.learnedAt)
		b = varint.AppendString(b, l.learned)
	}
	return b, nil
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (l *Ledger) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary implements encoding.BinaryUnmarshaler: it reads what AppendBinary has written.
// After an error the Ledger is as it was. What others have changed may be read as something
// else, but neither panics nor uses memory beyond a small multiple of its length.
func (l *Ledger) UnmarshalBinary(data []byte) error {
	if len(data) == 0 || data[0] != version {
		return fmt.Errorf("store: want a ledger of version %d, not %.8q", version, data)
	}
	r := varint.NewReader(data[1:])
	epoch := r.Int(time.Time{}.UnixNano(), math.MaxInt64/2) // no Epoch is the earliest
	read := Ledger{Epoch: time.Unix(0, epoch), known: r.Bool(), lost: r.Bool(), fresh: r.Bool()}
	read.slotLife, read.rose = time.Duration(r.Int(0, int64(monotime.Longest))), r.Time()
	read.horizon = time.Duration(r.Int(0, int64(monotime.Longest)))
	read.asked = askedSlotLife{readSlotLife(r), readSlotLife(r), r.Time()}
	read.lastSlot, read.told, read.heldUntil, read.lastUsed = r.Time(), r.Time(), r.Time(), r.Time()
	read.served, read.born, read.learnsUntil, read.unheard, read.cut = r.Time(), r.Time(), r.Time(), readCount(r), r.Bool()
	read.loss, read.parted = loss{had: readCount(r), told: readCount(r)}, r.Time()
	for range r.Len() {
		read.loss.parts = append(read.loss.parts, toldPart{r.Time(), r.String(), r.Int(0, mostInPart)})
	}
	for range r.Len() {
		read.readPlace(r)
	}
	for range r.Len() {
		o := returnedSlot{at: r.Time(), cost: make([]int64, r.Len())}
		for i := range o.cost {
			o.cost[i] = readAmount(r)
		}
		if n := len(read.returned); len(o.cost) != len(read.places) || n > 0 && o.at <= read.returned[n-1].at {
			r.Fail()
		}
		read.returned = append(read.returned, o)
	}
	read.members = map[string]*member{}
	for range r.Len() {
		name := r.String()
		m := &member{r.Int(0, math.MaxInt64), r.Int(0, math.MaxInt64), r.Time(), readSlotLife(r), r.Time(), r.Time(), r.Bool(), r.Bool(), nil}
		m.got = readRuns(r, m.at)
		read.members[name] = m
	}
	for range r.Len() {
		read.readStatement(r)
	}
	for range r.Len() {
		o := list{at: r.Time(), by: r.String()}
		for range r.Len() {
			o.quotas = append(o.quotas, readQuota(r))
		}
		read.lists = append(read.lists, o)
	}
	if r.Err() == nil && !r.Empty() {
		if read.learnedAt, read.learned = r.Time(), r.String(); len(read.learned) > MaxLearned {
			r.Fail()
		}
	}
	if r.Err() == nil && !r.Empty() {
		return errors.New("store: more than a ledger")
	}
	if r.Err() != nil {
		return fmt.Errorf("store: a ledger that cannot be read: %w", r.Err())
	}
	*l = read
	return nil
}

// kinds are those that a Ledger has, each at its number in what AppendBinary writes.
var kinds = [...]quota.Kind{1: quota.TokenBucket, quota.FixedWindow, quota.ClockWindow, quota.SlidingWindow, quota.SlidingLog, quota.EstimatedWindow}

func appendQuota(b []byte, q *quota.Quota) []byte {
	b = varint.Append(b, int64(slices.Index(kinds[:], q.Kind)), q.N, int64(q.Per), q.Burst, int64(q.Cells))
	b = varint.AppendBool(b, q.Debt)
	return varint.AppendString(b, q.Unit)
}

// readQuota reads a quota.
func readQuota(r *varint.Reader) quota.Quota {
	q := quota.Quota{Kind: kinds[r.Int(1, int64(len(kinds)-1))], N: r.Int(1, math.MaxInt64)}
	q.Per = time.Duration(r.Int(1, math.MaxInt64))
	q.Burst, q.Cells = readAmount(r), readCount(r)
	q.Debt, q.Unit = r.Bool(), r.String()
	explicit := quota.Quotas{q}.Explicit()[0]
	explicit.Name = ""
	if r.Err() != nil || q.Validate() != nil || q != explicit {
		r.Fail()
	}
	return q
}

// readPlace reads a quota and its ledger.
func (l *Ledger) readPlace(r *varint.Reader) {
	o := place{quota: readQuota(r)}
	if r.Err() != nil {
		return
	}
	o.noneBefore, o.asked, o.spare, o.part = r.Time(), r.Time(), r.Int(-math.MaxInt64, math.MaxInt64), readAmount(r)
	o.slotLife = ledgerSlotLife{readSlotLife(r), r.Time(), readSlotLife(r)}
	o.larger = largerN{readAmount(r), r.Time()}
	o.ledger = slot.New(o.quota, o.slotLife.slotLife, l.horizon, l.Epoch.UnixNano()-1)
	o.ledger.Restore(r)
	l.places = append(l.places, o)
}

func appendStatement(b []byte, s *statement) []byte {
	b = varint.AppendString(b, s.Name, s.Counter, s.Unit)
	b = varint.Append(b, s.Limit, s.Remaining, int64(s.Reset))
	b = varint.AppendBool(b, s.ResetKnown)
	b = varint.Append(b, s.Resolution)
	b = varint.AppendBool(b, s.Absolute)
	return varint.Append(b, int64(s.Skew), int64(s.Window), int64(s.reset))
}

func (l *Ledger) readStatement(r *varint.Reader) {
	var s statement
	s.Name, s.Counter, s.Unit = r.String(), r.String(), r.String()
	s.Limit, s.Remaining = r.Int(math.MinInt64, math.MaxInt64), r.Int(math.MinInt64, math.MaxInt64)
	s.Reset, s.ResetKnown = readSpan(r), r.Bool()
	s.Resolution, s.Absolute = readSpan(r), r.Bool()
	s.Skew, s.Window, s.reset = readSpan(r), readSpan(r), r.Time()
	l.statements = append(l.statements, s)
}

func readSlotLife(r *varint.Reader) time.Duration {
	return time.Duration(r.Int(0, int64(monotime.Longest)))
}

func readAmount(r *varint.Reader) int64 { return r.Int(0, math.MaxInt64) }

func readCount(r *varint.Reader) int { return int(r.Int(0, math.MaxInt)) }

func readSpan(r *varint.Reader) time.Duration {
	return time.Duration(r.Int(math.MinInt64, math.MaxInt64))
}
