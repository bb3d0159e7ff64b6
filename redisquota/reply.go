package redisquota

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

var errReply = errors.New("the script's reply cannot be read: the Client must return it as an array of strings")

// mostSlots is how many slots one call hands out.
const mostSlots = 512

// reader reads numbers that are separated by spaces.
type reader struct {
	fields []string
	bad    bool
}

func read(s string) *reader { return &reader{fields: strings.Fields(s)} }

func (r *reader) number() int64 {
	if len(r.fields) == 0 {
		r.bad = true
		return 0
	}
	n, err := strconv.ParseInt(r.fields[0], 10, 64)
	r.fields, r.bad = r.fields[1:], r.bad || err != nil
	return n
}

func (r *reader) int() int { return int(r.number()) }

func (r *reader) duration() time.Duration { return time.Duration(r.number()) * time.Microsecond }

// decode reads what 13_exchange.lua writes.
func decode(flat []string) (*store.Reply, error) {
	if len(flat) < 3 {
		return nil, errReply
	}
	h := read(flat[0])
	now, others := h.number(), h.int()
	reply := &store.Reply{
		Next: h.duration(), Bound: h.int(), Ahead: h.duration(), Members: h.int(), Sharing: h.int(), Hold: h.duration(), Lost: h.int() == 1, SlotLife: h.duration(), Known: h.duration(), Life: h.number(), Parted: h.int() == 1,
		Learned: flat[1],
	}
	for len(h.fields) > 0 {
		reply.Left = append(reply.Left, h.number())
	}
	for text := range strings.FieldsSeq(flat[2]) { // a run of slots: see 12_slots.lua
		s := reader{fields: strings.Split(text, ":")}
		slot, step, n := store.Slot{ID: s.number(), Ask: s.int(), Count: s.int(), Bound: s.int()}, int64(0), 1
		if len(s.fields) > 0 {
			step, n = s.number(), s.int()
		}
		if s.bad || n > mostSlots-len(reply.Slots) {
			return nil, errReply
		}
		for range n {
			slot.In = time.Duration(slot.ID-now) * time.Microsecond
			reply.Slots = append(reply.Slots, slot)
			slot.ID += step
		}
	}
	if flat = flat[3:]; h.bad || others < 0 || others > len(flat) {
		return nil, errReply
	}
	for _, text := range flat[:others] {
		qs, err := quota.Parse(text)
		if err != nil {
			return nil, errReply
		}
		qs = qs.Explicit()
		for i := range qs {
			qs[i].Name = ""
		}
		reply.Others = append(reply.Others, qs)
	}
	for said := range slices.Chunk(flat[others:], 3) {
		if len(said) < 3 {
			return nil, errReply
		}
		var st statement
		if err := json.Unmarshal([]byte(said[2]), &st); err != nil {
			return nil, errReply
		}
		reset, remaining := read(said[0]), read(said[1])
		st.Reset, st.Remaining, st.Counter = max(reset.duration(), 0), remaining.number(), st.Bucket
		if reset.bad || remaining.bad {
			return nil, errReply
		}
		reply.Statements = append(reply.Statements, st.Statement)
	}
	slices.SortFunc(reply.Statements, func(a, b quota.Statement) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Counter, b.Counter))
	})
	return reply, nil
}
