package learning

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
)

// modelLimit is one limit of an API of a language model: a bucket that refills, or a window.
type modelLimit struct {
	name   string
	most   float64
	span   time.Duration
	cost   func(prompt, answer int) float64
	window bool
	late   bool // costs are taken while answers are written: a request goes while anything is left
	secret bool // no header speaks of it

	left float64
	at   time.Time
}

func modelPrompt(prompt, _ int) float64    { return float64(prompt) }
func modelAnswer(_, answer int) float64    { return float64(answer) }
func modelBoth(prompt, answer int) float64 { return float64(prompt + answer) }
func modelOne(int, int) float64            { return 1 }

func (l *modelLimit) refill(now time.Time) {
	switch passed := now.Sub(l.at); {
	case l.at.IsZero():
		l.at, l.left = now, l.most
	case !l.window:
		l.at, l.left = now, min(l.most, l.left+l.most*passed.Seconds()/l.span.Seconds())
	case passed >= l.span:
		l.at, l.left = l.at.Add(passed.Truncate(l.span)), l.most
	}
}

// wait returns for how long a request that costs n has to wait.
func (l *modelLimit) wait(n float64, now time.Time) time.Duration {
	if l.refill(now); l.late {
		n = 1
	}
	switch missing := n - l.left; {
	case missing <= 1e-6:
		return 0
	case l.window:
		return l.at.Add(l.span).Sub(now)
	default:
		return time.Duration(math.Ceil(missing / l.most * float64(l.span)))
	}
}

// full returns in how long all is back.
func (l *modelLimit) full(now time.Time) time.Duration {
	if l.window {
		return l.at.Add(l.span).Sub(now)
	}
	return time.Duration((l.most - max(l.left, 0)) / l.most * float64(l.span))
}

// model is an API of a language model.
type model struct {
	limits []*modelLimit
	say    func(h http.Header, l *modelLimit, now time.Time) // what headers say of a limit
	hint   func(h http.Header, d time.Duration) (text string)

	mu              sync.Mutex
	served, refused int
	spent           float64 // of the last limit
}

func modelSeconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

func sayOpenAI(h http.Header, l *modelLimit, now time.Time) {
	h.Set("X-Ratelimit-Limit-"+l.name, strconv.Itoa(int(l.most)))
	h.Set("X-Ratelimit-Remaining-"+l.name, strconv.Itoa(int(max(l.left, 0))))
	h.Set("X-Ratelimit-Reset-"+l.name, l.full(now).Round(time.Millisecond).String())
}

// sayAnthropic rounds tokens to thousands.
func sayAnthropic(h http.Header, l *modelLimit, now time.Time) {
	left := max(l.left, 0)
	if l.name != "Requests" {
		left = math.Round(left/1000) * 1000
	}
	h.Set("Anthropic-Ratelimit-"+l.name+"-Limit", strconv.Itoa(int(l.most)))
	h.Set("Anthropic-Ratelimit-"+l.name+"-Remaining", strconv.Itoa(int(left)))
	h.Set("Anthropic-Ratelimit-"+l.name+"-Reset", now.Add(l.full(now)+time.Second-1).UTC().Truncate(time.Second).Format(time.RFC3339))
}

func sayAzure(h http.Header, l *modelLimit, _ time.Time) {
	h.Set("X-Ratelimit-Remaining-"+l.name, strconv.Itoa(int(max(l.left, 0))))
}

func sayMistral(h http.Header, l *modelLimit, _ time.Time) {
	h.Set("X-Ratelimit-Limit-"+l.name+"-Minute", strconv.Itoa(int(l.most)))
	h.Set("X-Ratelimit-Remaining-"+l.name+"-Minute", strconv.Itoa(int(max(l.left, 0))))
}

func hintSeconds(h http.Header, d time.Duration) string {
	h.Set("Retry-After", modelSeconds(d))
	return ""
}

func hintMillis(h http.Header, d time.Duration) string {
	h.Set("Retry-After-Ms", strconv.Itoa(int(math.Ceil(float64(d)/1e6))))
	return hintSeconds(h, d)
}

func hintGoogle(h http.Header, d time.Duration) string {
	h.Set("Content-Type", "application/json")
	return `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + modelSeconds(d) + `s"}]}}`
}

func hintNothing(http.Header, time.Duration) string { return "" }

// models are the APIs, with limits of their lower tiers.
var models = map[string]func() *model{
	"openai": func() *model {
		return &model{say: sayOpenAI, hint: hintMillis, limits: []*modelLimit{{name: "Requests", most: 500, span: time.Minute, cost: modelOne}, {name: "Tokens", most: 30_000, span: time.Minute, cost: modelBoth}}}
	},
	"openai-late": func() *model { // some that speak like OpenAI charge what was written
		return &model{say: sayOpenAI, hint: hintMillis, limits: []*modelLimit{{name: "Requests", most: 500, span: time.Minute, cost: modelOne}, {name: "Tokens", most: 30_000, span: time.Minute, cost: modelBoth, late: true}}}
	},
	"anthropic": func() *model { // requests bind
		return &model{say: sayAnthropic, hint: hintSeconds, limits: []*modelLimit{{name: "Requests", most: 50, span: time.Minute, cost: modelOne}, {name: "Input-Tokens", most: 30_000, span: time.Minute, cost: modelPrompt}, {name: "Output-Tokens", most: 8000, span: time.Minute, cost: modelAnswer, late: true}}}
	},
	"anthropic-output": func() *model { // output tokens bind
		return &model{say: sayAnthropic, hint: hintSeconds, limits: []*modelLimit{{name: "Requests", most: 1000, span: time.Minute, cost: modelOne}, {name: "Input-Tokens", most: 450_000, span: time.Minute, cost: modelPrompt}, {name: "Output-Tokens", most: 8000, span: time.Minute, cost: modelAnswer, late: true}}}
	},
	"groq": func() *model {
		return &model{say: sayOpenAI, hint: hintSeconds, limits: []*modelLimit{{name: "Requests", most: 14_400, span: 24 * time.Hour, cost: modelOne}, {name: "Tokens", most: 18_000, span: time.Minute, cost: modelBoth}}}
	},
	"groq-minute": func() *model { // no header speaks of the requests a minute
		return &model{say: sayOpenAI, hint: hintSeconds, limits: []*modelLimit{{name: "Requests", most: 14_400, span: 24 * time.Hour, cost: modelOne}, {most: 30, span: time.Minute, cost: modelOne, secret: true}, {name: "Tokens", most: 18_000, span: time.Minute, cost: modelBoth}}}
	},
	"gemini": func() *model {
		return &model{hint: hintGoogle, limits: []*modelLimit{{most: 1000, span: time.Minute, cost: modelOne, window: true, secret: true}, {most: 32_000, span: time.Minute, cost: modelPrompt, window: true, secret: true}}}
	},
	"azure": func() *model { // no reset is stated
		return &model{say: sayAzure, hint: hintMillis, limits: []*modelLimit{{name: "Requests", most: 60, span: 10 * time.Second, cost: modelOne, window: true}, {name: "Tokens", most: 60_000, span: time.Minute, cost: modelBoth, window: true}}}
	},
	"azure-requests": func() *model { // requests bind
		return &model{say: sayAzure, hint: hintMillis, limits: []*modelLimit{{name: "Requests", most: 20, span: 10 * time.Second, cost: modelOne, window: true}, {name: "Tokens", most: 100_000, span: time.Minute, cost: modelBoth, window: true}}}
	},
	"mistral": func() *model { // neither a reset nor a hint
		return &model{say: sayMistral, hint: hintNothing, limits: []*modelLimit{{name: "Req", most: 720, span: time.Minute, cost: modelOne, window: true}, {name: "Tokens", most: 50_000, span: time.Minute, cost: modelBoth, window: true}}}
	},
}

const (
	modelTrip  = 60 * time.Millisecond
	modelFirst = 300 * time.Millisecond // until the first token
	modelToken = 15 * time.Millisecond
)

// wait returns for how long a request has to wait that comes at an instant. It requires that mu is held.
func (m *model) wait(prompt, answer int, at time.Time) (d time.Duration) {
	for _, l := range m.limits {
		d = max(d, l.wait(l.cost(prompt, answer), at))
	}
	return d
}

// charge takes a part of what a request costs from the limits that are charged late, or at once.
func (m *model) charge(prompt, answer int, late bool, part float64) {
	now := time.Now()
	for _, l := range m.limits {
		if l.refill(now); l.late == late {
			l.left -= part * l.cost(prompt, answer)
		}
	}
}

// modelBody is an answer that is written in four parts.
type modelBody struct {
	m              *model
	prompt, answer int
	read           int
}

func (b *modelBody) Read(p []byte) (int, error) {
	const parts = 4
	if b.read == parts {
		return 0, io.EOF
	}
	time.Sleep(time.Duration(b.answer) * modelToken / parts)
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	b.m.charge(b.prompt, b.answer, true, 1./parts)
	b.read++
	return copy(p, "."), nil
}

// serve answers a request, after so long a way there and before the way back. What the headers say is of when
// it came; of what is charged late, of when they were written.
func (m *model) serve(req *http.Request, prompt, answer int, way time.Duration, streams bool) *http.Response {
	time.Sleep(way)
	m.mu.Lock()
	now, h, status := time.Now(), http.Header{}, http.StatusOK
	d := m.wait(prompt, answer, now)
	if d == 0 {
		m.charge(prompt, answer, false, 1)
	}
	for _, l := range m.limits {
		if !l.secret {
			m.say(h, l, now)
		}
	}
	body := io.Reader(strings.NewReader("{}"))
	if d > 0 {
		m.refused++
		status, body = http.StatusTooManyRequests, strings.NewReader(m.hint(h, d))
	} else {
		m.served++
		m.spent += m.limits[len(m.limits)-1].cost(prompt, answer)
	}
	m.mu.Unlock()
	switch {
	case d > 0:
	case streams:
		time.Sleep(modelFirst)
		body = &modelBody{m: m, prompt: prompt, answer: answer}
	default:
		time.Sleep(modelFirst + time.Duration(answer)*modelToken)
		m.mu.Lock()
		m.charge(prompt, answer, true, 1)
		for _, l := range m.limits {
			if l.late {
				m.say(h, l, time.Now())
			}
		}
		m.mu.Unlock()
	}
	time.Sleep(way)
	return &http.Response{StatusCode: status, Header: h, Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(body), ContentLength: -1}
}

// modelRun is a program that asks for answers for half an hour.
type modelRun struct {
	api                string
	callers, processes int
	streams            bool
}

// play returns how much was served, in the unit of the last limit, how many requests were refused per 100, and
// the longest time that one took beyond that of an answer. Ideal callers know the server, and wait in one line.
func (r modelRun) play(t *testing.T, ideal bool) (spent, refused float64, longest time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, turn, random := models[r.api](), make(chan struct{}, 1), lab.Random(1, 7)
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			var prompt, answer, caller int
			if _, err := fmt.Sscanf(req.URL.RawQuery, "%d,%d,%d", &prompt, &answer, &caller); err != nil {
				return nil, err
			}
			way := modelTrip/2 + time.Duration(caller)*time.Microsecond
			if ideal {
				turn <- struct{}{}
				for d := time.Duration(1); d > 0; time.Sleep(d) {
					m.mu.Lock()
					d = min(m.wait(prompt, answer, time.Now().Add(modelTrip/2)), 50*time.Millisecond)
					m.mu.Unlock()
				}
				time.AfterFunc(modelTrip/2+1, func() { <-turn })
			}
			return m.serve(req, prompt, answer, way, r.streams), nil
		})
		var mu sync.Mutex // of longest
		var wait sync.WaitGroup
		end := time.Now().Add(30 * time.Minute)
		for process := range r.processes {
			client := &http.Client{Transport: &pacer.Transport{Base: base, Rand: lab.Random(1, uint64(process)), Learn: pacer.Learn{Bodies: pacer.ErrorBodies}}}
			if ideal {
				client.Transport = base
			}
			for i := range r.callers / r.processes {
				caller := process*r.callers/r.processes + i // who begins at an instant of its own, and has a way of its own: then each run is the same
				wait.Go(func() {
					time.Sleep(time.Duration(caller) * time.Millisecond)
					for time.Now().Before(end) {
						prompt, answer := int(100*math.Pow(10, random())), int(40*math.Pow(10, random()))
						began := time.Now()
						if got := lab.Get(t, client, fmt.Sprintf("http://api.example/chat?%d,%d,%d", prompt, answer, caller)); got != http.StatusOK {
							if ideal {
								continue // another answer was written meanwhile
							}
							t.Errorf("got %d", got)
							return
						}
						mu.Lock()
						longest = max(longest, time.Since(began)-modelTrip-modelFirst-time.Duration(answer)*modelToken)
						mu.Unlock()
					}
				})
			}
		}
		wait.Wait()
		spent, refused = m.spent, 100*float64(m.refused)/float64(cmp.Or(m.served, 1))
	})
	return spent, refused, longest
}

var modelsFlag = flag.String("models", "", "print how well programs use the APIs of language models that match")

// TestModels: one program, told nothing, uses what the APIs of language models give, and is hardly refused,
// though answers stream or take seconds, cost as much as ten others, and are charged when they begin or as they
// are written. With -args -models REGEXP it prints a table of all that match, such as three processes, where
// less is promised.
func TestModels(t *testing.T) {
	runs := []modelRun{
		{"openai", 4, 1, true},
		{"openai", 64, 1, true},
		{"openai", 64, 1, false},
		{"openai-late", 4, 1, true},
		{"openai-late", 16, 1, true},
		{"openai-late", 64, 1, true},
		{"anthropic", 4, 1, true},
		{"anthropic", 64, 1, true},
		{"anthropic-output", 4, 1, true},
		{"anthropic-output", 16, 1, true},
		{"anthropic-output", 64, 1, true},
		{"anthropic-output", 64, 1, false},
		{"groq", 16, 1, true},
		{"groq-minute", 4, 1, true},
		{"groq-minute", 16, 1, true},
		{"groq-minute", 64, 1, true},
		{"groq-minute", 16, 1, false},
		{"azure-requests", 16, 1, true},
		{"azure-requests", 64, 1, true},
		{"azure-requests", 16, 1, false},
		{"azure-requests", 64, 1, false},
		{"mistral", 16, 1, true},
		{"mistral", 64, 1, true},
		{"mistral", 16, 1, false},
		{"mistral", 64, 1, false},
	}
	if *modelsFlag != "" {
		runs = nil
		for api := range models {
			for i := range 12 {
				r := modelRun{api, []int{1, 4, 16, 64}[i%4], []int{1, 3}[i/8], i/4%2 == 0}
				if r.processes > 1 {
					r.streams = true
				}
				if regexp.MustCompile(*modelsFlag).MatchString(api) && r.callers >= r.processes {
					runs = append(runs, r)
				}
			}
		}
	}
	for _, r := range runs {
		name := fmt.Sprintf("%+v", r)
		if *modelsFlag == "" && !whole.Part(8, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			most, _, least := r.play(t, true)
			spent, refused, longest := r.play(t, false)
			t.Logf("%.3f of what is possible, %.2f refused of 100, longest wait %v (%v)", spent/most, refused, longest.Round(time.Second), least.Round(time.Second))
			want, bound := 0.95, 2.0
			if r.api == "azure-requests" && !r.streams { // it varies with the seed, by who of several callers goes first
				want, bound = 0.88, 4 // nor what remains at once: 0.96 is used in the mean, and 0.92 at the least
			}
			if r.api == "groq-minute" { // of a limit that refusals alone tell, 2.1 in the mean
				bound = 3
			}
			if *modelsFlag == "" && (spent < want*most || refused > bound) {
				t.Errorf("%.3f of what is possible, and %.2f refused of 100, want %v and %v", spent/most, refused, want, bound)
			}
		})
	}
}
