package pacer

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// TestModeIsText: modes are strings in JSON, YAML and flags. Validate finds what is none.
func TestModeIsText(t *testing.T) {
	for _, mode := range []Mode{"", ModeWait, ModeReject, ModeDegrade, ModeObserve} {
		text, err := json.Marshal(struct{ Mode Mode }{mode})
		if err != nil || string(text) != fmt.Sprintf(`{"Mode":%q}`, string(mode)) {
			t.Errorf("%q is %s, %v", mode, text, err)
		}
		var c struct{ Mode Mode }
		if err := json.Unmarshal(text, &c); err != nil || c.Mode != mode || mode.check("Mode") != nil {
			t.Errorf("%s is %q, %v, %v", text, c.Mode, err, mode.check("Mode"))
		}
	}
	for _, bad := range []Mode{"hold", "Wait", "wait ", "1"} {
		if err := bad.check("Mode"); err == nil || err.Error() != fmt.Sprintf("pacer: Mode is %q, want wait, reject, degrade or observe", string(bad)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestFieldsOfCallsAreJoined: what an older Call of a request sets is not lost, if a newer one leaves it open.
func TestFieldsOfCallsAreJoined(t *testing.T) {
	for i, call := 0, reflect.TypeFor[Call](); i < call.NumField(); i++ {
		if f := call.Field(i); f.IsExported() {
			older, set := new(Call), map[reflect.Kind]any{reflect.Map: map[string]int64{"a": 1}, reflect.Bool: true, reflect.String: "a"}[f.Type.Kind()]
			if set == nil {
				set = 1
			}
			want := reflect.ValueOf(set).Convert(f.Type)
			reflect.ValueOf(older).Elem().Field(i).Set(want)
			joined := (&calls{new(Call), &calls{older, nil}}).asks()
			if got := reflect.ValueOf(joined).Elem().Field(i).Interface(); !reflect.DeepEqual(got, want.Interface()) {
				t.Errorf("%s of an older Call is %v, and %v beside a newer Call: join it in asks", f.Name, want, got)
			}
		}
	}
}

// TestRequestsOfCallsHaveTwoNames: of two Calls the newer counts, also if each calls requests by another name.
func TestRequestsOfCallsHaveTwoNames(t *testing.T) {
	for _, names := range [][2]string{{"", quota.Requests}, {quota.Requests, ""}} {
		l := &calls{&Call{Costs: quota.Costs{names[0]: 2}}, &calls{&Call{Costs: quota.Costs{names[1]: 5}}, nil}}
		if got, want := l.asks().Costs, (quota.Costs{names[0]: 2}); !maps.Equal(got, want) {
			t.Errorf("joined %v, want %v", got, want)
		}
	}
}

// TestBoundsOfARequestGoByTheMonotonicClock: if the wall clock is set while a request waits to be sent again,
// MaxElapsed is as far away as it was.
func TestBoundsOfARequestGoByTheMonotonicClock(t *testing.T) {
	var l throttle.Limiter
	g, err := l.Acquire(t.Context(), throttle.Claim{})
	if err != nil {
		t.Fatal(err)
	}
	first := newExchange(&trip{}, g, nil).firstSent
	if !strings.Contains(first.String(), " m=") || !first.Round(0).Equal(ofThrottle.Time(g)) {
		t.Errorf("first sent at %v, want %v with the monotonic clock", first, ofThrottle.Time(g))
	}
}

// TestNilCall: where no Call was added to a context, each method of what CallFrom returns does nothing, and
// returns zero.
func TestNilCall(t *testing.T) {
	call := reflect.ValueOf(CallFrom(t.Context()))
	for i := range call.NumMethod() {
		m, in := call.Method(i), []reflect.Value(nil)
		if m.Type().NumIn() > 0 {
			in = append(in, reflect.ValueOf(quota.Costs{"tokens": 1})) // Settle
		}
		for _, got := range m.Call(in) {
			if !got.IsZero() {
				t.Errorf("%s returned %v, want zero", call.Type().Method(i).Name, got)
			}
		}
	}
	if call.NumMethod() < 6 {
		t.Errorf("there are %d methods, want 6 at least", call.NumMethod())
	}
}
