package redisquota

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/internal/keys"
	"github.com/gopacer/pacer/throttle/store"
)

// version is that of the protocol which the script speaks. It is not store.Version: that is of the pacer in
// use, which may be a later one.
const version = 1

// check reports what the script could not do, or not exactly.
func check(r *store.Request) error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("redisquota: %s: %s is %v, want %s", r.Bucket, field, value, want)
	}
	const span = "from 0 to 50 years"
	switch {
	case r.Version != version:
		return bad("Version", r.Version, strconv.Itoa(version))
	case r.SlotLife < 0 || r.SlotLife > longest:
		return bad("SlotLife", r.SlotLife, span)
	case r.Horizon < 0 || r.Horizon > longest:
		return bad("Horizon", r.Horizon, span)
	case r.Serial < 0:
		return bad("Serial", r.Serial, "0 or more")
	case r.Answered > 0 && r.Answered >= r.Serial: // what was answered is not asked again
		return bad("Answered", r.Answered, "less than Serial, "+strconv.FormatInt(r.Serial, 10))
	}
	for i := range r.Quotas {
		q := &r.Quotas[i]
		switch want := wanted(q); {
		case want != "":
			return bad("a quota", q, want)
		case q.Kind.OnClock() && q.Per%time.Microsecond != 0:
			return bad("Per", q.Per, "whole microseconds for a window of the clock")
		case q.Kind.OnClock() && r.SlotLife >= q.Per:
			return bad("SlotLife", r.SlotLife, "less than the Per of "+q.String())
		}
	}
	return nil
}

// wanted returns what a store wants instead of a quota, as store.Ledger says it; nothing if the quota can live
// in a store.
func wanted(q *quota.Quota) string {
	switch {
	case q.N <= 0 || q.Per <= 0 || q.WarmUp != 0 || q.Kind == quota.Plain || q.Kind.Concurrent() ||
		q.Months != 0 || q.From != 0 || q.Zone != "" || q.Validate() != nil:
		return "one that can live in a store"
	case q.Kind == quota.TokenBucket && q.Burst < 1 || q.Kind == quota.SlidingWindow && q.Cells < 1:
		return "what Explicit of quota.Quotas returns of it"
	}
	return ""
}

// arguments are those of the script, in the order in which it reads them.
type arguments []string

func (a *arguments) text(s string) { *a = append(*a, s) }

func (a *arguments) number(n int64) { *a = append(*a, strconv.FormatInt(min(n, quota.MaxN), 10)) }

func (a *arguments) flag(b bool) { *a = append(*a, map[bool]string{true: "1", false: "0"}[b]) }

// up is a duration in microseconds, rounded up.
func (a *arguments) up(d time.Duration) {
	*a = append(*a, strconv.FormatInt(int64((d+min(time.Microsecond-1, math.MaxInt64-d))/time.Microsecond), 10))
}

// ask is the cost of an ask of n quotas. What is no cost of theirs is written such that no quota grants it.
func (a *arguments) ask(c []int64, n int) {
	if isCost(c, n) {
		a.costs(c, n)
		return
	}
	for range n {
		a.text(strconv.FormatInt(quota.MaxN+1, 10))
	}
}

// isCost reports whether c is a cost of n quotas.
func isCost(c []int64, n int) bool { return len(c) == n && (n == 0 || slices.Min(c) >= 0) }

// costs are those of n quotas; those of other quotas are none.
func (a *arguments) costs(c []int64, n int) {
	for i := range n {
		if len(c) == n {
			a.number(max(c[i], 0))
		} else {
			a.text("0")
		}
	}
}

// encode writes a request as 02_request.lua reads it: without its Version, since that file is of this module.
// So many logs are declared, if it does not have more. The clock of the server was set, or may have been.
func encode(r *store.Request, prefix, channel string, logs int, set bool) (names, args []string) {
	tag := keys.Tag(prefix, r.Bucket)
	names = []string{tag + ":state", tag + ":active", tag + ":members", tag + ":holes", tag + ":said"}
	a := arguments(make([]string, 0, 64))
	a.text(r.Member)
	a.number(r.Serial)
	a.flag(r.Leave)
	a.up(r.SlotLife)
	a.up(r.Horizon)
	a.up(max(r.Hold, 0))
	per := time.Duration(0)
	for i := range r.Quotas {
		per = max(per, min(r.Quotas[i].Per, longest)) // that of a TokenBucket may be longer
	}
	// An hour more, since keys are renewed once an hour.
	a.number((25*time.Hour + 2*per).Milliseconds())
	a.up(max(per, time.Minute))
	a.up(max(r.Ahead, 0))
	a.up(max(r.Since, -1))
	a.flag(set)
	a.number(max(r.Answered, 0))
	a.text(strconv.FormatInt(max(r.Life, 0), 10))
	a.number(int64(max(r.Sharing, 0)))
	a.text(channel)
	a.text(r.Bucket)
	a.described(r.Quotas)
	a.number(int64(len(r.Quotas)))
	own := 0
	for i := range r.Quotas {
		if a.quota(&r.Quotas[i]) {
			own++
		}
	}
	for i := range max(own, logs) {
		names = append(names, tag+":log"+strconv.Itoa(i+1))
	}
	n := len(r.Quotas)
	a.costs(r.Hand, n)
	a.costs(r.More, n)
	a.back(r.Back, n)
	a.flag(r.Outage)
	a.flag(r.GoesOn)
	a.flag(r.Release)
	a.flag(r.Fresh)
	a.up(min(max(r.Standstill, 0), longest))
	a.flag(r.Look)
	a.own(r.Own, n)
	a.number(int64(len(r.Asks)))
	for _, ask := range r.Asks {
		a.number(int64(ask.Count))
		a.number(int64(max(ask.Within, -1) / time.Microsecond)) // rounded down: not later
		if ask.Within < 0 {
			a[len(a)-1] = "-1"
		}
		a.ask(ask.Cost, n)
	}
	a.statements(r.Statements)
	if len(r.Learned) > store.MaxLearned {
		a.text("")
	} else {
		a.text(r.Learned)
	}
	return names, a
}

// described writes the quotas as people do, without their names.
func (a *arguments) described(qs quota.Quotas) {
	texts := make([]string, len(qs))
	for i := range qs {
		texts[i] = qs[i].String()
	}
	a.text(strings.Join(texts, ", "))
}

// kinds are those that the script has, each at its number in tags.
var kinds = [...]quota.Kind{1: quota.TokenBucket, quota.FixedWindow, quota.ClockWindow, quota.SlidingWindow, quota.SlidingLog, quota.EstimatedWindow}

// quota writes one, and reports whether it is a log, which has a key of its own.
func (a *arguments) quota(q *quota.Quota) (log bool) {
	kind, tag, cell := "log", strconv.Itoa(slices.Index(kinds[:], q.Kind))+":"+q.Unit, time.Duration(-1)
	switch q.Kind {
	case quota.TokenBucket:
		kind = "bucket"
	case quota.ClockWindow, quota.EstimatedWindow:
		kind = "clock"
		if q.Kind == quota.EstimatedWindow {
			kind = "estimate"
		}
		tag += ":" + strconv.FormatInt(q.Per.Microseconds(), 10)
	case quota.SlidingWindow:
		cell = q.Per / time.Duration(q.Cells)
	}
	a.text(kind)
	a.text(tag)
	a.number(q.N)
	a.up(q.Per)
	a.number(max(q.Burst, 1))
	a.flag(q.Debt)
	a.number(int64(cell / time.Microsecond)) // rounded down: less joins
	if cell < 0 {
		(*a)[len(*a)-1] = "-1" // SlotLife
	}
	return kind == "log"
}

func (a *arguments) back(parts []store.Part, n int) {
	place := len(*a)
	a.text("")
	k := int64(0)
	for _, p := range parts {
		if isCost(p.Cost, n) {
			a.text(strconv.FormatInt(p.Slot, 10))
			a.costs(p.Cost, n)
			k++
		}
	}
	(*a)[place] = strconv.FormatInt(k, 10)
}

// own writes what the member sent.
func (a *arguments) own(all []store.Own, n int) {
	place := len(*a)
	a.text("")
	k := int64(0)
	for _, o := range all {
		if len(o.Cost) == n {
			a.text(strconv.FormatInt(int64(min(max(o.In, -longest), longest)/time.Microsecond), 10))
			a.costs(o.Cost, n)
			k++
		}
	}
	(*a)[place] = strconv.FormatInt(k, 10)
}

// statement is a Statement as Redis has it, where its Counter is called Bucket.
type statement struct {
	quota.Statement
	Bucket string
}

// statements writes what servers said. Reset and Remaining are the matter of the script; the rest is
// read by decode again.
func (a *arguments) statements(all []quota.Statement) {
	a.number(int64(len(all)))
	for _, st := range all {
		if st.Unit == quota.Requests {
			st.Unit = "" // one limit, under either name of its unit
		}
		rest := statement{st, st.Counter}
		rest.Reset, rest.Remaining, rest.Counter = 0, 0, ""
		text, err := json.Marshal(rest)
		if err != nil {
			text = []byte("{}")
		}
		a.text(strings.Join([]string{st.Unit, st.Name, st.Counter}, "\x00"))
		a.number(max(st.Remaining, 0))
		a.flag(st.ResetKnown)
		a.up(max(st.Reset, 0))
		a.up(min(store.Doubt(&st), longest))
		a.text(string(text))
	}
}
