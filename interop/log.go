package interop

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer"
)

// clock is how lines of a log begin, so that those of several processes can be sorted.
const clock = "15:04:05.000000"

// trace returns hooks that write to standard error what pacer does, or nil.
func (j job) trace() *pacer.Trace {
	if !j.Log {
		return nil
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%s    "+format+"\n", append([]any{time.Now().UTC().Format(clock)}, args...)...)
	}
	return &pacer.Trace{
		Queued: func(q pacer.Queued) { say("queued: %v %s, %v", q.Cause, q.Quota, q.Wait) },
		Answered: func(a pacer.Answered) {
			if a.Refused && a.Held > 0 {
				say("held: for %v after %d", a.Held, a.Status)
			}
		},
		Retrying: func(r pacer.Retrying) {
			say("again: attempt %d after %d, refusal %v, in %v", r.Attempt, r.Status, r.Refused, r.Delay)
		},
		GaveUp: func(g pacer.GaveUp) {
			say("gave up: %v %v, status %d, %d attempts", g.Reason, g.Because, g.Status, g.Attempts)
		},
		NotSent: func(r pacer.NotSent) { say("not sent: %v", r.Err) },
		Learned: func(l pacer.Learned) { say("learned: %+v", l.Limits) },
	}
}

// line is the event in a log: when, which status, and what was said about limits.
func (e event) line() string {
	var said []string
	for name, values := range e.header {
		if lower := strings.ToLower(name); strings.Contains(lower, "limit") || lower == "retry-after" {
			said = append(said, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(said)
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", e.at.UTC().Format(clock), e.status, strings.Join(said, "; ")))
}

// writeLog writes what the limiter answered and what the clients said, in the order of
// time.
func writeLog(w io.Writer, events []event, clients string) error {
	lines := slices.DeleteFunc(strings.Split(clients, "\n"), func(s string) bool { return s == "" })
	for _, e := range events {
		lines = append(lines, e.line())
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(a[:min(len(a), len(clock))], b[:min(len(b), len(clock))])
	})
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}
