package throttle

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// sharedFields are those of Limiter.Shared, as fields of a Limiter.
func sharedFields() []reflect.StructField {
	shared, _ := reflect.TypeFor[Limiter]().FieldByName("Shared")
	fields := reflect.VisibleFields(shared.Type)
	for i := range fields {
		fields[i].Name, fields[i].Index = "Shared."+fields[i].Name, append(slices.Clone(shared.Index), fields[i].Index...)
	}
	return fields
}

// MaxWait: 30 is 30 ns, which nobody means. Whatever the field, the first claim says so.
func TestABareNumberIsNoDuration(t *testing.T) {
	found := 0
	for _, f := range slices.Concat(reflect.VisibleFields(reflect.TypeFor[Limiter]()), sharedFields()) {
		if !f.IsExported() || f.Type != reflect.TypeFor[time.Duration]() {
			continue
		}
		found++
		for d, fine := range map[time.Duration]bool{30: false, 999: false, time.Microsecond: true, -30: true, Forever: true} {
			l := &Limiter{Name: "a", Shared: Shared{Store: &store.Memory{}}}
			reflect.ValueOf(l).Elem().FieldByIndex(f.Index).SetInt(int64(d))
			err := l.Wait(t.Context(), 1)
			if want := "throttle: " + f.Name + " is " + d.String() + ", want 1µs or more: a number alone is in nanoseconds, "; !fine && (err == nil || !strings.HasPrefix(err.Error(), want)) {
				t.Errorf("%s of %v: got %v\nwant %s", f.Name, d, err, want)
			}
			if fine && err != nil {
				t.Errorf("%s of %v: %v", f.Name, d, err)
			}
		}
	}
	if found != 6 {
		t.Errorf("found %d durations, want 6", found)
	}
	l := &Limiter{MaxStandstill: 120, Reserve: 2}
	want := "throttle: Reserve is 2, want a share from 0 to less than 1\nthrottle: MaxStandstill is 120ns, want 1µs or more: a number alone is in nanoseconds, 120 * time.Second in seconds"
	for range 2 {
		if err := l.Wait(t.Context(), 1); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if err := l.SetQuotas(quota.Quotas{{N: 1}}); err != nil { // which are fine
			t.Error(err)
		}
	}
}

// A Store that could not be opened, and whose error nobody looked at, is never called: that would end the
// program.
func TestANilPointerIsNoStore(t *testing.T) {
	l := &Limiter{Name: "a", Quotas: quota.Quotas{{N: 5}}, Shared: Shared{Store: (*store.Memory)(nil)}}
	const want = "throttle: Shared.Store is a nil *store.Memory, want one that was made without an error, or no Store at all"
	for range 2 {
		for name, err := range map[string]error{"Validate": l.Validate(), "Wait": l.Wait(t.Context(), 1)} {
			if err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: got %v\nwant %s", name, err, want)
			}
		}
		g, _ := l.Observe(Claim{}) // grants all the same
		g.Answered(Answer{})
		l.Pause(time.Second)
		if err := l.SetQuotas(quota.Quotas{{N: 6}}); err != nil { // which are fine
			t.Error(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A claim is wrong whether it could go at once or not: who tries a program without load is told, too.
func TestAnInvalidClaimIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const want = "throttle: Claim.MaxWait is 30ns, want 1µs or more: a number alone is in nanoseconds, 30 * time.Second in seconds"
		for name, qs := range map[string]string{"no quota": "", "one bucket": "1/s burst 1", "two": "1/s burst 1, 2/m", "a log": "1/s log"} {
			l := &Limiter{Quotas: quotas(t, qs)}
			for _, c := range []Claim{{MaxWait: 30}, {MaxWait: 999}, {MaxWait: 30, N: 1}, {MaxWait: 30, Costs: quota.Costs{"tokens": 1}}} {
				if f := l.Forecast(c); !f.Never || !errors.Is(f.Err, ErrInvalid) {
					t.Errorf("%s: forecast %+v, want ErrInvalid", name, f)
				}
				if _, err := l.Acquire(t.Context(), c); !errors.Is(err, ErrInvalid) || c.MaxWait == 30 && err.Error() != want {
					t.Errorf("%s: got %v\nwant %s", name, err, want)
				}
			}
			for want, costs := range map[string]quota.Costs{
				`throttle: Claim.Costs has "requests": 5, want the cost in requests in Claim.N`: {quota.Requests: 5, "tokens": 1},
				`throttle: Claim.Costs has "requests": 0, want the cost in requests in Claim.N`: {quota.Requests: 0},
				`throttle: Claim.Costs has "": -1, want the cost in requests in Claim.N`:        {"": -1},
			} {
				f := l.Forecast(Claim{N: 1, Costs: costs})
				if _, err := l.Acquire(t.Context(), Claim{Costs: costs}); !errors.Is(err, ErrInvalid) || err.Error() != want || !f.Never || f.Err.Error() != want {
					t.Errorf("%s: got %v, forecast %+v\nwant %s", name, err, f, want)
				}
			}
			for _, c := range []Claim{{MaxWait: 30}, {Costs: quota.Costs{quota.Requests: 5}}} {
				g, f := l.Observe(c) // grants all the same
				if !f.Never || !errors.Is(f.Err, ErrInvalid) {
					t.Errorf("%s: observed %+v, want ErrInvalid", name, f)
				}
				g.Cancel()
			}
			if !l.Allow(1) {
				t.Errorf("%s: the claims that were refused were charged", name)
			}
			for _, fine := range []time.Duration{-30, time.Microsecond, Forever} {
				if _, err := l.Acquire(t.Context(), Claim{MaxWait: fine}); errors.Is(err, ErrInvalid) {
					t.Errorf("%s, MaxWait %v: %v", name, fine, err)
				}
			}
		}
	})
}

// What can never work is told from what may work later.
func TestErrInvalid(t *testing.T) {
	canceled := canceledContext(t)
	closed := &Limiter{Name: "a", Shared: Shared{Store: &store.Memory{}}}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	below := func(above *Limiter) *Limiter { return &Limiter{Name: "below", Parent: above} }
	for name, test := range map[string]struct {
		err     error
		invalid bool
	}{
		"Validate":         {(&Limiter{Reserve: 2}).Validate(), true},
		"a field":          {(&Limiter{Reserve: 2}).Wait(t.Context(), 1), true},
		"two fields":       {(&Limiter{Reserve: 2, MaxWait: 30}).Wait(t.Context(), 1), true},
		"a field above":    {below(&Limiter{Spend: "7"}).Wait(t.Context(), 1), true},
		"a quota":          {(&Limiter{Quotas: quota.Quotas{{N: -1}}}).Wait(t.Context(), 1), true},
		"units":            {(&Limiter{Parent: &Limiter{Quotas: quotas(t, "5 token/s")}, Quotas: quotas(t, "5 tokens/s")}).Wait(t.Context(), 1), true},
		"without a Name":   {(&Limiter{Shared: Shared{Store: &store.Memory{}}}).Wait(t.Context(), 1), true},
		"SetQuotas":        {new(Limiter).SetQuotas(quota.Quotas{{N: -1}}), true},
		"fine":             {new(Limiter).Validate(), false},
		"fine quotas":      {new(Limiter).SetQuotas(quotas(t, "5/s")), false},
		"too large":        {(&Limiter{Quotas: quotas(t, "5/s")}).Wait(t.Context(), 6), false},
		"a unit":           {(&Limiter{Quotas: quotas(t, "5 tokens/s")}).Wait(t.Context(), 1), false},
		"an ended context": {new(Limiter).Wait(canceled, 1), false},
		"Close":            {closed.Wait(t.Context(), 1), false},
	} {
		var refusal *Error
		if errors.Is(test.err, ErrInvalid) != test.invalid || test.invalid && errors.As(test.err, &refusal) {
			t.Errorf("%s: %v, %T", name, test.err, test.err)
		}
	}
	l := &Limiter{Reserve: 2, Quotas: quota.Quotas{{N: 1}}}
	if err := l.SetQuotas(quota.Quotas{{N: 2}}); err != nil {
		t.Error(err)
	}
	if err := l.Wait(t.Context(), 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("with other quotas: %v, want ErrInvalid", err)
	}
}

// What is none of the constants is refused, and grants nothing.
func TestUnknownConstantsAreRefused(t *testing.T) {
	for want, l := range map[string]*Limiter{
		`throttle: Shared.Outage is "9", want share, closed or open`:      {Name: "a", Shared: Shared{Store: &store.Memory{}, Outage: "9"}},
		`throttle: Shared.Outage is "Open", want share, closed or open`:   {Name: "a", Shared: Shared{Store: &store.Memory{}, Outage: "Open"}},
		`throttle: Spend is "evenly", want auto, eager, balanced or even`: {Spend: "evenly"},
	} {
		if err := l.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if l.Allow(1) {
			t.Errorf("granted, where %s", want)
		}
	}
	for _, l := range []*Limiter{
		{},
		{Spend: SpendAuto},
		{Spend: SpendEager},
		{Spend: SpendBalanced},
		{Spend: SpendEven},
		{Name: "a", Shared: Shared{Store: &store.Memory{}}},
		{Name: "a", Shared: Shared{Store: &store.Memory{}, Outage: OutageShare}},
		{Name: "a", Shared: Shared{Store: &store.Memory{}, Outage: OutageClosed}},
		{Name: "a", Shared: Shared{Store: &store.Memory{}, Outage: OutageOpen}},
	} {
		if err := l.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// A Limiter with a wrong field is silent to those who only ask Allow: Validate says why, and all that is wrong.
func TestValidateTellsWhatAllowDoesNot(t *testing.T) {
	above := &Limiter{Name: "host", MaxWait: 30}
	l := &Limiter{
		Parent: above, Shared: Shared{SlotLife: 50 * time.Millisecond}, Reserve: 2, Aging: 10,
		Quotas: quota.Quotas{{N: 5, Unit: "tokens"}, {Name: "daily", N: -5}, {N: -7}},
	}
	want := `quota: "daily": N is -5, want at least 0 (0 is no limit)
throttle: Reserve is 2, want a share from 0 to less than 1
throttle: Aging is 10ns, want 1µs or more: a number alone is in nanoseconds, 10 * time.Second in seconds
throttle: Shared.SlotLife is set, want a Store, without which it does nothing`
	const wantAbove = "throttle: MaxWait is 30ns, want 1µs or more: a number alone is in nanoseconds, 30 * time.Second in seconds"
	for range 2 {
		if l.Allow(1) {
			t.Error("granted")
		}
		if err := l.Wait(t.Context(), 1); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if err := l.Validate(); err == nil || err.Error() != want+"\n"+wantAbove {
			t.Errorf("got %v\nwant %s\n%s", err, want, wantAbove)
		}
	}
	if err := above.Validate(); err == nil || err.Error() != wantAbove {
		t.Errorf("got %v\nwant %s", err, wantAbove)
	}
	l = &Limiter{Name: "a", Shared: Shared{Store: &store.Memory{}, SlotLife: 50 * time.Millisecond}, Quotas: quota.Quotas{{N: 5}}}
	if err := l.Validate(); err != nil || !new(Group).Limiter("a").Allow(1) {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Validate(); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	var zero Limiter
	if err := zero.Validate(); err != nil || !zero.Allow(1) {
		t.Error(err)
	}
}

// What is about a Store does nothing without one, and its author thinks that it does.
func TestFieldsOfAStoreWantAStore(t *testing.T) {
	for name, l := range map[string]*Limiter{
		"Name":     {Shared: Shared{Name: "a"}},
		"Fresh":    {Shared: Shared{Fresh: true}},
		"Outage":   {Shared: Shared{Outage: OutageOpen}},
		"SlotLife": {Shared: Shared{SlotLife: time.Second}},
		"Event":    {Shared: Shared{Event: func(StoreEvent) {}}},
	} {
		if err, want := l.Wait(t.Context(), 1), "throttle: Shared."+name+" is set, want a Store, without which it does nothing"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		shared := l.Shared
		shared.Store = &store.Memory{}
		if err := (&Limiter{Name: "a", Shared: shared}).Wait(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
}

// A bucket for what a server counts on its own goes by the fields of the whole, but for what is the whole's
// alone: its names, its quotas and where they live, and what is above it.
func TestAPartGoesByTheFieldsOfItsWhole(t *testing.T) {
	l := &Limiter{
		Name: "a", Label: "b", Quotas: quotas(t, "5/s"), Parent: new(Limiter), Tenant: true, MaxWait: 1, MaxStandstill: 2, MaxQueue: 3, Aging: 4, Reserve: 0.5,
		Spend: SpendEven, SlowStart: true, IdleAfter: 5, Rand: noJitter, MaxHold: 6, Value: 7,
		Shared: Shared{Store: new(store.Memory)},
	}
	whole, part := reflect.ValueOf(l).Elem(), reflect.ValueOf(l.part("d")).Elem()
	for i := range whole.NumField() {
		f := whole.Type().Field(i)
		switch f.Name {
		case "Name", "Quotas", "Parent", "Tenant", "Shared":
			continue
		}
		if f.IsExported() && whole.Field(i).IsZero() {
			t.Errorf("set %s here, to see whether part passes it on", f.Name)
		} else if got, want := part.Field(i), whole.Field(i); f.IsExported() && got.IsZero() || f.IsExported() && got.Comparable() && !got.Equal(want) {
			t.Errorf("%s of a part is %v, and %v of the whole: pass it on in part, or list it here as the whole's alone", f.Name, got, want)
		}
	}
	if part.Addr().Interface().(*Limiter).Parent != l {
		t.Error("the whole is not above its part")
	}
}
