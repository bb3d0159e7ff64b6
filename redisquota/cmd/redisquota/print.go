package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gopacer/pacer/quota"
)

// printer writes what is known of buckets: as text for people, or as JSON.
type printer struct {
	out  io.Writer
	json bool
}

// list writes a line for each bucket.
func (s *shared) list(ctx context.Context, p *printer) error {
	names, err := s.buckets(ctx)
	if err != nil {
		return err
	}
	all := []*bucket{}
	for _, name := range names {
		switch b, err := s.look(ctx, name); {
		case err == nil:
			all = append(all, b)
		case !errors.Is(err, errNoBucket): // it has expired since
			return err
		}
	}
	if p.json {
		list := make([]asJSON, len(all))
		for i, b := range all {
			list[i] = b.json()
		}
		return p.write(list)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(p.out, "There is no bucket under the prefix %q.\n", s.prefix)
		return err
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BUCKET\tPROCESSES\tHELD FOR\tDEBT\tNEXT IN\tQUOTAS")
	for _, b := range all {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", printable(b.name), b.now.Members, dash(b.now.Hold), dash(b.debt), dash(b.next), b.versions())
	}
	return w.Flush()
}

// show explains one bucket.
func (s *shared) show(ctx context.Context, p *printer, name string) error {
	b, err := s.look(ctx, name)
	if err != nil {
		return err
	}
	if p.json {
		return p.write(b.json())
	}
	_, err = io.WriteString(p.out, b.explain())
	return err
}

// release ends the hold and the debt of a bucket, and says what that has changed.
func (s *shared) release(ctx context.Context, p *printer, name string) error {
	before, err := s.look(ctx, name)
	if err != nil {
		return err
	}
	if err := s.end(ctx, before); err != nil {
		return err
	}
	b, err := s.look(ctx, name)
	if err != nil {
		return err
	}
	if p.json {
		return p.write(map[string]asJSON{"before": before.json(), "after": b.json()})
	}
	var ended []string
	if before.now.Hold > 0 {
		ended = append(ended, "a hold of "+short(before.now.Hold))
	}
	if before.debt > 0 {
		ended = append(ended, "a debt of "+short(before.debt))
	}
	what := "nothing held it, and it was in no debt"
	if len(ended) > 0 {
		what = "ended " + strings.Join(ended, " and ")
	}
	_, err = fmt.Fprintf(p.out, "%s: %s. The next request may go %s.\n", printable(name), what, in(b.next))
	return err
}

// versions are the quotas, all that are about.
func (b *bucket) versions() string {
	text := b.quotas.String()
	for _, o := range b.others {
		text += " | " + o.String()
	}
	return text
}

// explain says in plain words how a bucket is.
func (b *bucket) explain() string {
	var w strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&w, "  "+format+"\n", args...) }
	fmt.Fprintln(&w, printable(b.name))
	line("Its quotas are %s.", b.quotas)
	for _, o := range b.others {
		line("TWO VERSIONS ARE ABOUT: in the last ten seconds, a process asked by %s. The quotas of both hold.", o)
	}
	switch b.now.Members {
	case 0:
		line("No process uses it: each has left, or has asked for nothing in the last two seconds.")
	case 1:
		line("One process uses it.")
	default:
		line("%d processes use it.", b.now.Members)
	}
	if b.now.Hold > 0 {
		line("It is HELD for another %s: a server said so to one of the processes, or one of them paused.", short(b.now.Hold))
	}
	if b.debt > 0 {
		line("It is IN DEBT for %s: more was charged than the quotas grant, or the bucket is new or was lost, and is taken for used up.", short(b.debt))
	}
	why := ""
	if i := b.now.Bound; b.next > 0 && i >= 0 && i < len(b.quotas) {
		why = ", for " + b.quotas[i].String()
	}
	line("The next request may go %s%s.", in(b.next), why)
	for i, q := range b.quotas {
		if q.Kind != quota.TokenBucket && i < len(b.now.Left) {
			line("Of %s, %d are left.", q, b.now.Left[i])
		}
	}
	for _, st := range b.now.Statements {
		name := st.Name
		if name == "" {
			name = "its limit"
		}
		if name = printable(name); st.Counter != "" {
			name += ", counted in " + printable(st.Counter)
		}
		unit := ""
		if st.Unit != "" {
			unit = " " + printable(st.Unit)
		}
		line("A server said of %s: %d of %d%s remain, until a reset in %s.", name, st.Remaining, st.Limit, unit, short(st.Reset))
	}
	line("The server has known the bucket for %s.", short(b.now.Known))
	if b.now.Hold > 0 || b.debt > 0 {
		line("To end that: redisquota release '%s'", printable(b.name))
	}
	return w.String()
}

// asJSON is a bucket as JSON. Spans are seconds.
type asJSON struct {
	Bucket    string         `json:"bucket"`
	Quotas    quota.Quotas   `json:"quotas"`
	Others    []quota.Quotas `json:"others,omitempty"` // by which other processes asked lately
	Processes int            `json:"processes"`
	Held      float64        `json:"held"`
	Debt      float64        `json:"debt"`
	Next      float64        `json:"next"`
	Left      map[string]int `json:"left,omitempty"` // of the windows
	Known     float64        `json:"known"`
	Said      []saidAsJSON   `json:"said,omitempty"`
}

// saidAsJSON is what a server said of a limit.
type saidAsJSON struct {
	Name      string  `json:"name,omitempty"`
	Counter   string  `json:"counter,omitempty"` // of those of that name
	Unit      string  `json:"unit,omitempty"`
	Limit     int     `json:"limit"`
	Remaining int     `json:"remaining"`
	Reset     float64 `json:"reset"`
}

func (b *bucket) json() asJSON {
	j := asJSON{
		Bucket: b.name, Quotas: b.quotas, Others: b.others, Processes: b.now.Members,
		Held: b.now.Hold.Seconds(), Debt: b.debt.Seconds(), Next: b.next.Seconds(), Known: b.now.Known.Seconds(),
	}
	for i, q := range b.quotas {
		if q.Kind != quota.TokenBucket && i < len(b.now.Left) {
			if j.Left == nil {
				j.Left = map[string]int{}
			}
			j.Left[q.String()] = int(b.now.Left[i])
		}
	}
	for _, st := range b.now.Statements {
		j.Said = append(j.Said, saidAsJSON{st.Name, st.Counter, st.Unit, int(st.Limit), int(st.Remaining), st.Reset.Seconds()})
	}
	return j
}

func (p *printer) write(v any) error {
	e := json.NewEncoder(p.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printable is a text of unknown origin as a terminal may show it.
func printable(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` || s == "" {
		return q
	}
	return s
}

// dash is a span, or a dash if there is none.
func dash(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return short(d)
}

func in(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + short(d)
}

// short is a span to what people look at.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < time.Minute:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	return d.String()
}
