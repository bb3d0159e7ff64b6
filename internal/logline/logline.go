// Package logline writes what happened to requests to a log: few lines, and nothing in them that a log should
// not have.
//
// In comes what hooks are told; out come lines. Of one kind, and about buckets of one label, at most one a
// second is written; the next one says how many were left out. A line has the method and the label, what a
// quota or a server is called, and of an error what kind it is. It has no part of a URL, no header, no body, no
// value of a wildcard, and no text of an error of others, which may quote a URL with all that is secret in it.
package logline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gopacer/pacer/internal/visible"
	"github.com/gopacer/pacer/internal/waits"
	"github.com/gopacer/pacer/throttle"
)

const (
	long  = time.Second // a shorter wait is not worth a line; client-go's limit, too
	every = time.Second // for lines of one kind and label
	most  = 1000        // labels of which it is known when the latest line was written
)

// Log writes lines.
type Log struct {
	logger *slog.Logger

	mu     sync.Mutex // protects the fields below
	latest map[key]*latest
	others map[string]int // lines left out, by kind, of labels that are not in latest any more
}

type key struct{ message, label string }

// latest is the latest line of a key.
type latest struct {
	at      time.Time
	leftOut int // lines since then
}

// New returns a Log that writes to logger; if that is nil, to slog.Default().
func New(logger *slog.Logger) *Log {
	if logger == nil {
		logger = slog.Default()
	}
	return &Log{logger: logger, latest: map[key]*latest{}, others: map[string]int{}}
}

// Request is whom a line is about.
type Request struct {
	Context  context.Context //nolint:containedctx // for the handler, which may look up a trace in it
	Method   string
	Label    string // of the bucket
	Observed bool   // nothing happened: a line says what would have
}

// Waited notes that a request has waited in line.
func (l *Log) Waited(r Request, wait time.Duration, waits []throttle.Wait) {
	if wait > long {
		waits = byLabel(waits)
		attrs := waited(wait, waits)
		if len(waits) > 0 {
			attrs = append(attrs, text("advice", Advice(waits[0].Cause, waits[0].Quota)), all(waits))
		}
		l.write(r, slog.LevelInfo, r.would("request waited", "request would have waited"), attrs)
	}
}

// BackedOff notes that a request backed off before it is sent again, after an answer or an error, or after a
// refusal of this request alone.
func (l *Log) BackedOff(r Request, delay time.Duration, refusal bool, status int, err error) {
	if delay > long {
		advice := "the attempt before failed: see Retry"
		if refusal {
			advice = "this request alone was refused, and not others: see docs/learning.md"
		}
		l.write(r, slog.LevelInfo, "request waited", []slog.Attr{
			slog.Duration("wait", delay), slog.String("cause", "backoff"), number("status", status), text("error", kind(err)),
			slog.String("advice", advice),
		})
	}
}

// NotSent notes that a request was not sent, after a wait or without one.
func (l *Log) NotSent(r Request, err error, wait time.Duration, waits []throttle.Wait) {
	waits = byLabel(waits)
	level := slog.LevelWarn
	if errors.Is(err, throttle.ErrCanceled) {
		level = slog.LevelInfo // the caller wanted it so
	}
	l.write(r, level, r.would("request not sent", "request would not have been sent"), append(append(refused(err), waited(wait, waits)...), all(waits)))
}

// Answered notes if a server has refused a request as too early, and for how long its bucket is held.
func (l *Log) Answered(r Request, refused bool, status int, held time.Duration) {
	if !refused {
		return
	}
	attrs := []slog.Attr{number("status", status)}
	if held > 0 {
		attrs = append(attrs, slog.Duration("held", held))
	}
	l.write(r, slog.LevelWarn, "request refused by the server", attrs)
}

// End says why a request is not sent again, what became of its latest attempt, and for how long since then it
// backed off, and waited.
type End struct {
	Reason           string
	Attempts, Status int
	Err              error // of the latest attempt
	Because          error // behind the reason
	Delay, Wait      time.Duration
	Waits            []throttle.Wait
}

// GaveUp notes that a request is not sent again.
func (l *Log) GaveUp(r Request, e End) {
	waits := byLabel(e.Waits)
	attrs := []slog.Attr{slog.String("reason", e.Reason), slog.Int("attempts", e.Attempts), number("status", e.Status), text("error", kind(e.Err)), text("advice", notAgain[e.Reason])}
	attrs = append(attrs, refused(e.Because)...)
	if e.Delay > 0 {
		attrs = append(attrs, slog.Duration("backoff", e.Delay))
	}
	level := slog.LevelWarn
	if e.Reason == "canceled" {
		level = slog.LevelInfo // the caller wanted it so
	}
	l.write(r, level, "request not sent again", append(append(attrs, waited(e.Wait, waits)...), all(waits)))
}

// StoreEvent notes what happened to a Store.
func (l *Log) StoreEvent(e throttle.StoreEvent) {
	r := Request{Context: context.Background(), Label: e.Label}
	switch e.Kind {
	case throttle.StoreDown:
		attrs := []slog.Attr{text("error", kind(e.Err))}
		if errors.Is(e.Err, context.DeadlineExceeded) {
			attrs = append(attrs, slog.String("advice", "a store that is always farther away than 250ms needs OutageClosed, and a SlotLife of two round trips"))
		}
		l.write(r, slog.LevelWarn, "store not reached", attrs)
	case throttle.StoreSlow:
		l.write(r, slog.LevelWarn, "store is too slow", []slog.Attr{slog.String("advice", "a store nearer by, or a larger SlotLife, would help")})
	case throttle.StoreLost:
		l.write(r, slog.LevelWarn, "store does not know the bucket: it is new, or was lost", nil)
	case throttle.StoreOthers:
		l.write(r, slog.LevelWarn, "store has the bucket with other quotas, too", []slog.Attr{text("others", e.Others.String())})
	case throttle.StoreBack:
		l.write(r, slog.LevelInfo, "store reached again", []slog.Attr{slog.Duration("down", e.Down)})
	}
}

// would returns what the line says: what happened, or what would have.
func (r *Request) would(happened, would string) string {
	if r.Observed {
		return would
	}
	return happened
}

// write writes a line, unless that would be too many. It leaves out the zero Attr.
func (l *Log) write(r Request, level slog.Level, message string, attrs []slog.Attr) {
	if !l.logger.Enabled(r.Context, level) {
		return
	}
	leftOut, others, ok := l.due(key{message, r.Label}, time.Now())
	if !ok {
		return
	}
	line := make([]slog.Attr, 0, len(attrs)+4)
	for _, a := range append([]slog.Attr{text("method", r.Method), text("bucket", r.Label)}, attrs...) {
		if !a.Equal(slog.Attr{}) {
			line = append(line, a)
		}
	}
	for _, a := range []slog.Attr{number("left_out", leftOut), number("left_out_of_others", others)} {
		if !a.Equal(slog.Attr{}) {
			line = append(line, a)
		}
	}
	l.logger.LogAttrs(r.Context, level, "pacer: "+message, line...)
}

// due reports whether a line may be written now, and how many were left out before it.
func (l *Log) due(k key, now time.Time) (leftOut, others int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.latest[k]
	if e == nil {
		if len(l.latest) >= most {
			l.forget(now)
		}
		if len(l.latest) >= most {
			l.others[k.message]++
			return 0, 0, false
		}
		e = &latest{}
		l.latest[k] = e
	} else if now.Sub(e.at) < every {
		e.leftOut++
		return 0, 0, false
	}
	leftOut, others = e.leftOut, l.others[k.message]
	*e = latest{at: now}
	delete(l.others, k.message)
	return leftOut, others, true
}

// forget makes room: of labels whose next line may be written at once, only what was left out is still counted.
func (l *Log) forget(now time.Time) {
	for k, e := range l.latest {
		if now.Sub(e.at) < every {
			continue
		}
		if delete(l.latest, k); e.leftOut > 0 {
			l.others[k.message] += e.leftOut
		}
	}
}

// waited is for how long a request has waited, and what mostly for.
func waited(wait time.Duration, waits []throttle.Wait) []slog.Attr {
	if len(waits) == 0 {
		return nil
	}
	return []slog.Attr{slog.Duration("wait", wait), slog.String("cause", string(waits[0].Cause)), text("quota", waits[0].Quota)}
}

// byLabel returns waits with one for each label, cause and quota, the longest first: a line tells buckets of
// one label not apart.
func byLabel(each []throttle.Wait) []throttle.Wait {
	each = slices.Clone(each)
	for i := range each {
		each[i].Bucket = ""
	}
	return waits.Merge(nil, each)
}

// all is what a request waited for, if that was more than one thing.
func all(waits []throttle.Wait) slog.Attr {
	if len(waits) <= 1 {
		return slog.Attr{}
	}
	return slog.Any("causes", causes(waits))
}

// causes writes waits as text, when a line is written.
type causes []throttle.Wait

// LogValue implements slog.LogValuer.
func (c causes) LogValue() slog.Value {
	var b strings.Builder
	for i, w := range c {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%v %s", w.For, strings.ReplaceAll(string(w.Cause), "_", " "))
		if w.Quota != "" {
			fmt.Fprintf(&b, " %q", visible.Text(w.Quota, maxText))
		}
		if w.Label != "" {
			b.WriteString(" of " + visible.Text(w.Label, maxText))
		}
	}
	return slog.StringValue(b.String())
}

// advice says whose a limit is, and what to change.
var advice = map[throttle.Cause]string{
	throttle.CausePace:            "a configured quota: raise it if the provider allows more",
	throttle.CauseSpread:          "a limit that is spread until its reset: see Spend",
	throttle.CauseWarmUp:          "a configured warm-up",
	throttle.CauseInFlight:        "a bound of what is in flight, configured or stated by the server: are all answers read and closed?",
	throttle.CauseHold:            "the server refused: it said for how long, or the hold doubles with each refusal",
	throttle.CauseWindowUsedUp:    "the server says that its limit is used up: send less, or ask the provider for more",
	throttle.CauseSlowStart:       "the bucket was new, idle or held, and starts slowly: see docs/waiting.md",
	throttle.CauseStoreAsked:      "the store of the quotas takes its time: a nearer one, or a larger SlotLife, would help",
	throttle.CauseStoreNotReached: "the store of the quotas cannot be reached",
}

// notAgain says what to change if a request is not sent again for a reason that does not say it, and has no
// error behind it.
var notAgain = map[string]string{
	"refusals": "the server refused it more than MaxRefusals times: do others use its limit, too?",
	"hint":     "the server asks for a longer wait than MaxStandstill or MaxWait allows",
	"budget":   "many requests fail, and more retries would add to the load: see Retry.BudgetRatio",
	"method":   "it may have been carried out: if a second one does no harm, see Call.Idempotent and Retry.IdempotencyKey",
	"body":     "its body cannot be had again: set GetBody of the request, or Retry.BufferBody",
}

// Advice says whose a limit is, and what to change; empty if there is nothing to say.
func Advice(c throttle.Cause, quota string) string {
	if c == throttle.CausePace && quota == "what the server was seen to allow" {
		return "the server refuses what is faster: send less, or ask the provider for more"
	}
	return advice[c]
}

// Kind is what a line says of an error: see kind.
func Kind(err error) string { return kind(err) }

// refused is why a request was refused here; nil if there is no error.
func refused(err error) []slog.Attr {
	if err == nil {
		return nil
	}
	var e *throttle.Error
	if !errors.As(err, &e) {
		return []slog.Attr{text("why", kind(err))}
	}
	attrs := []slog.Attr{text("why", kind(e)), text("refused_for", string(e.Cause)), text("refused_by", e.Quota)}
	if e.Wait > 0 {
		attrs = append(attrs, slog.Duration("could_go_in", e.Wait))
	}
	late := e.Wait > 0 || e.Cause == throttle.CauseInFlight // of which nobody knows when it ends
	if late && !errors.Is(e.Err, throttle.ErrCanceled) {    // which no advice would have helped
		advice := Advice(e.Cause, e.Quota)
		if errors.Is(e.Err, throttle.ErrStandstill) {
			advice += "; a larger MaxStandstill has requests wait"
		}
		attrs = append(attrs, text("advice", advice))
	}
	return attrs
}

// kind says what kind an error is, without its text, which may quote a URL or a credential; empty if there is
// no error. An error that is a slog.LogValuer says itself what may be written of it, as those of package
// redisquota do.
func kind(err error) string {
	if err == nil {
		return ""
	}
	var local *throttle.Error
	if errors.As(err, &local) {
		for _, known := range []error{
			throttle.ErrWouldWait, throttle.ErrMaxWait, throttle.ErrStandstill, throttle.ErrDeadline, throttle.ErrQueueFull,
			throttle.ErrTooLarge, throttle.ErrUnit, throttle.ErrClosed, throttle.ErrCanceled,
		} {
			if errors.Is(local.Err, known) {
				return known.Error()
			}
		}
	}
	if errors.Is(err, throttle.ErrInvalid) {
		return throttle.ErrInvalid.Error()
	}
	var own slog.LogValuer
	if errors.As(err, &own) {
		return own.LogValue().Resolve().String()
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "timeout"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}

// maxText bounds what is written of a text of others, in bytes.
const maxText = 200

// text is an Attr of a text of others; the zero Attr if it is empty.
func text(name, s string) slog.Attr {
	if s == "" {
		return slog.Attr{}
	}
	return slog.String(name, visible.Text(s, maxText))
}

// number is an Attr of a number; the zero Attr if it is zero.
func number(name string, n int) slog.Attr {
	if n == 0 {
		return slog.Attr{}
	}
	return slog.Int(name, n)
}
