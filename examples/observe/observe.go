package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/throttle"
)

// observer notes what pacer would have done. The zero observer is ready.
type observer struct {
	mu    sync.Mutex // protects the fields below
	sent  map[*http.Request]sent
	hosts map[string]*host
}

// sent is a request that is under way.
type sent struct {
	at    time.Time
	wait  time.Duration // for which it would have waited
	waits []throttle.Wait
}

// host is what was seen of one.
type host struct {
	answers []answer
	stated  []statement
	waited  []time.Duration // of requests that would have waited
	causes  map[throttle.Cause]int
	saved   int // refused requests that would have waited
}

// around returns a RoundTripper that does what base does, and tells o of it.
func (o *observer) around(base http.RoundTripper) http.RoundTripper {
	o.sent, o.hosts = map[*http.Request]sent{}, map[string]*host{}
	return &pacer.Transport{
		Base: base,
		Mode: pacer.ModeObserve,
		Trace: &pacer.Trace{
			Went:     o.went,
			Answered: o.answered,
			Learned:  o.learned,
		},
	}
}

func (o *observer) went(e pacer.Went) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent[e.Request] = sent{time.Now(), e.Wait, e.Waits}
}

func (o *observer) answered(e pacer.Answered) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.sent[e.Request]
	delete(o.sent, e.Request)
	h := o.host(e.Label)
	if e.Err != nil {
		return // it says nothing of the server's limits
	}
	h.answers = append(h.answers, answer{s.at, e.Refused})
	if len(s.waits) > 0 {
		h.waited = append(h.waited, s.wait)
		h.causes[s.waits[0].Cause]++
		if e.Refused {
			h.saved++
		}
	}
}

func (o *observer) learned(e pacer.Learned) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range e.Limits {
		if l.Unit == "" && l.Limit.Known && l.Limit.N > 0 {
			h := o.host(e.Label)
			h.stated = state(h.stated, statement{l.Name, int(min(l.Limit.N, 1e9)), l.Window, l.Reset.In})
		}
	}
}

// host returns what is known of a host.
func (o *observer) host(label string) *host {
	if o.hosts[label] == nil {
		o.hosts[label] = &host{causes: map[throttle.Cause]int{}}
	}
	return o.hosts[label]
}

// report says what was seen of all hosts.
func (o *observer) report() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(o.hosts)) {
		o.hosts[name].report(&b, name)
	}
	return b.String()
}

func (h *host) report(b *strings.Builder, name string) {
	slices.SortStableFunc(h.answers, func(x, y answer) int { return x.at.Compare(y.at) })
	refused := 0
	for _, a := range h.answers {
		if a.refused {
			refused++
		}
	}
	fmt.Fprintf(b, "\n%s\n  %d answers, %d of them refusals\n", name, len(h.answers), refused)
	if refused > 0 {
		fmt.Fprintf(b, "  pacer would have saved %d of the refusals: it would have let these requests wait\n", h.saved)
	}
	if len(h.waited) > 0 {
		sum := time.Duration(0)
		for _, d := range h.waited {
			sum += d
		}
		fmt.Fprintf(b, "  %d requests would have waited, for %v on average, for %v at most\n",
			len(h.waited), short(sum/time.Duration(len(h.waited))), short(slices.Max(h.waited)))
		fmt.Fprintf(b, "  what for: %s\n", h.why())
	}
	h.fits(b, name)
}

// why lists the causes, the most frequent one first.
func (h *host) why() string {
	causes := slices.SortedFunc(maps.Keys(h.causes), func(x, y throttle.Cause) int {
		return cmp.Or(h.causes[y]-h.causes[x], cmp.Compare(x, y))
	})
	texts := make([]string, len(causes))
	for i, c := range causes {
		texts[i] = fmt.Sprintf("%s (%d)", strings.ReplaceAll(string(c), "_", " "), h.causes[c])
	}
	return strings.Join(texts, ", ")
}

// fits says which quota fits what the host answered.
func (h *host) fits(b *strings.Builder, name string) {
	best, ok := fit(h.answers, h.stated)
	if !ok {
		b.WriteString("  no quota is to be seen: the host has refused nothing and stated nothing\n")
		return
	}
	fmt.Fprintf(b, "  the quota that fits: %v, which explains %d of %d answers", best.quota, len(h.answers)-best.wrong, len(h.answers))
	if best.stated {
		b.WriteString(", and is what the host states")
	}
	hostname, _, _ := strings.Cut(name, ":") // patterns have no port
	fmt.Fprintf(b, "\n\n\tQuotas: pacer.Table{%q: quota.MustParse(%q)}\n", hostname+"/", best.quota)
}

// short rounds a duration for people.
func short(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
