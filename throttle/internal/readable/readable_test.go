package readable

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/visible"
)

type inner struct {
	Wait   time.Duration
	Cause  kind
	Left   int `json:"left"`
	Not    int `json:"-"`
	hidden int
}

type kind string

func TestJSON(t *testing.T) {
	type outer struct {
		Name  string
		Next  inner
		All   []inner
		Link  *inner
		Err   error
		Rate  float64
		Never bool
	}
	for _, test := range []struct {
		v    any
		want string
	}{
		{outer{}, `{}`},
		{outer{All: []inner{}}, `{}`},
		{outer{Name: "a\"\xff<", Next: inner{Wait: 1500 * time.Millisecond, hidden: 1, Not: 2}, Never: true}, `{"name":"a\"\ufffd\u003c","next":{"wait":"1.5s","left":0},"never":true}`},
		{outer{All: []inner{{}, {Cause: "pace", Left: 3}}, Link: &inner{Wait: time.Hour}, Rate: 0.5}, `{"all":[{"left":0},{"cause":"pace","left":3}],"link":{"wait":"1h0m0s","left":0},"rate":0.5}`},
		{outer{Next: inner{Wait: time.Hour - 1}}, `{"next":{"wait":"1h0m0s","left":0}}`},
		{outer{Next: inner{Wait: 1234567 * time.Microsecond}}, `{"next":{"wait":"1.23s","left":0}}`},
		{outer{Err: errors.New("no route to host")}, `{"err":"no route to host"}`},
	} {
		got, err := JSON(test.v)
		if string(got) != test.want || err != nil || !json.Valid(got) {
			t.Errorf("got %s, %v, want %s", got, err, test.want)
		}
	}
	for _, v := range []any{outer{Rate: math.NaN()}, []outer{{Rate: math.Inf(1)}}} {
		if got, err := JSON(v); err == nil {
			t.Errorf("%s of what JSON cannot say", got)
		}
	}
}

// TestLasting: nobody says 743 hours.
func TestLasting(t *testing.T) {
	const h = time.Hour
	for d, want := range map[time.Duration]string{
		1234567 * time.Microsecond: "1.23s", h: "1h0m0s", 24 * h: "24h0m0s", 48*h - time.Second: "47h59m59s",
		48 * h: "2d", 744*h - time.Second: "31d", 743 * h: "30d23h", 8784 * h: "366d", math.MaxInt64: "106751d23h",
	} {
		if got := Lasting(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

// TestBeforeAnswer: a claim may come after its deadline, and before its context has ended.
func TestBeforeAnswer(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		d, answer time.Duration
		want      string
	}{
		{200 * ms, 0, " (in 200ms)"},
		{200 * ms, 50 * ms, " (in 250ms, less 50ms for the answer)"},
		{-50 * ms, 60 * ms, " (in 10ms, less 60ms for the answer)"},
		{-56 * time.Microsecond, 0, " (in 0s)"},
		{-70 * ms, 60 * ms, " (in 0s, less 60ms for the answer)"},
	} {
		if got := BeforeAnswer(test.d, test.answer); got != test.want {
			t.Errorf("%v, %v: got %q, want %q", test.d, test.answer, got, test.want)
		}
	}
}

// What a store says of the quotas of others is written in one line of a bounded length.
func TestStoreEventOfOthersIsBounded(t *testing.T) {
	for others, want := range map[string]string{
		"5/s":                        `throttle: a: store has the bucket with other quotas, too: "5/s"`,
		"5/s as \"a\x1b[2J\u202e\"":  `throttle: a: store has the bucket with other quotas, too: "5/s as \"a%1B[2J%E2%80%AE\""`,
		strings.Repeat("5/s, ", 1e6): `throttle: a: store has the bucket with other quotas, too: "` + strings.Repeat("5/s, ", 197) + "…" + visible.Digest(strings.Repeat("5/s, ", 1e6)) + `"`,
	} {
		if got := StoreEvent("a", "others", nil, 0, text(others)); got != want {
			t.Errorf("%.100q: got\n%.2000s, want\n%s", others, got, want)
		}
	}
}

type text string

func (s text) String() string { return string(s) }
