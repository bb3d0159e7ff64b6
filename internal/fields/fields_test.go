package fields

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"time"
)

type config struct {
	Wait  time.Duration
	Group struct {
		Late, Soon time.Duration
		hidden     time.Duration
	}
	Count  int64
	Handle *struct{ Wait time.Duration }
	hidden time.Duration
}

func TestBareNumbers(t *testing.T) {
	c := config{Wait: 30, Count: 30, hidden: 30, Handle: &struct{ Wait time.Duration }{30}}
	c.Group.Late, c.Group.Soon, c.Group.hidden = 1_000_000, 999_999, 30
	want := []string{
		"Wait is 30ns, want 1ms or more: a number alone is in nanoseconds, 30 * time.Second in seconds",
		"Group.Soon is 999.999µs, want 1ms or more: a number alone is in nanoseconds, 999999 * time.Second in seconds",
	}
	if got := BareNumbers(&c, time.Millisecond); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	c.Wait, c.Group.Soon = -30, 0
	if got := BareNumbers(&c, time.Millisecond); got != nil {
		t.Errorf("got %q", got)
	}
	if n := testing.AllocsPerRun(10, func() { BareNumbers(&c, time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations for what is fine", n)
	}
}

// 30 * time.Microsecond is short, and no number without a unit; 3600 is 3.6 µs.
func TestWholeMicrosecondsHaveAUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		30 * time.Microsecond: "30µs, want 1ms or more",
		time.Microsecond:      "1µs, want 1ms or more",
		3600:                  "3.6µs, want 1ms or more: a number alone is in nanoseconds, 3600 * time.Second in seconds",
		999:                   "999ns, want 1ms or more: a number alone is in nanoseconds, 999 * time.Second in seconds",
	} {
		if got := BareNumber(d, time.Millisecond); got != want {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
}

func TestSetWithout(t *testing.T) {
	type group struct {
		Store    any
		SlotLife time.Duration
		Fresh    bool
	}
	want := []string{"Shared.SlotLife is set, want a Store, without which it does nothing", "Shared.Fresh is set, want a Store, without which it does nothing"}
	if got := SetWithout("Shared.", group{SlotLife: -1, Fresh: true}, "Store"); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for _, fine := range []group{{}, {Store: 1}, {Store: 1, SlotLife: 1}} {
		if got := SetWithout("Shared.", fine, "Store"); got != nil {
			t.Errorf("%+v: got %q", fine, got)
		}
	}
}

// What a function has returned beside an error is not nil as an interface.
func TestNilPointer(t *testing.T) {
	type group struct{ Store any }
	want := []string{"Shared.Store is a nil *int, want one that was made without an error, or no Store at all"}
	bad := group{Store: (*int)(nil)}
	for _, got := range [][]string{NilPointer("Shared.", bad, "Store"), NilPointer("Shared.", &bad, "Store"), SetWithout("Shared.", bad, "Store")} {
		if !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
	for _, fine := range []any{group{}, group{Store: 1}, group{Store: new(int)}, &group{}, struct{ Store bool }{true}, struct{}{}} {
		if got := NilPointer("", fine, "Store"); got != nil {
			t.Errorf("%+v: got %q", fine, got)
		}
	}
}

// The text stays, and so does what the error was.
func TestInvalid(t *testing.T) {
	if err := Invalid(nil); err != nil {
		t.Error(err)
	}
	inner := fmt.Errorf("N is -1: %w", io.ErrShortBuffer)
	if err := Invalid(inner); err.Error() != inner.Error() || !errors.Is(err, ErrInvalid) || !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("got %v", err)
	}
}

func TestOneOfAndShare(t *testing.T) {
	for want, got := range map[string][]string{
		`A is "x", want auto, eager, balanced or even`:  OneOf("A", "x", Spends),
		`B is "Open", want share, closed or open`:       OneOf("B", "Open", Outages),
		"C is 1, want a share from 0 to less than 1":    Share("C", 1),
		"D is NaN, want a share from 0 to less than 1":  Share("D", math.NaN()),
		"E is -0.1, want a share from 0 to less than 1": Share("E", -0.1),
	} {
		if len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := slices.Concat(OneOf("A", "", Spends), OneOf("A", "even", Spends), Share("C", 0), Share("C", 0.999)); got != nil {
		t.Errorf("what is fine is answered with %q", got)
	}
}

func TestEach(t *testing.T) {
	a, b := errors.New("a"), fmt.Errorf("b: %w", errors.Join(io.EOF, io.ErrUnexpectedEOF))
	for _, want := range [][]error{nil, {a, b}} {
		if got := Each(errors.Join(want...)); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if got := Each(b); !slices.Equal(got, []error{b}) {
		t.Errorf("of an error that joins none: %v", got)
	}
}
