// Package fields finds mistakes in the fields of a configuration that no type forbids: durations to which
// somebody forgot the unit, fields that do nothing without another one, nil pointers in interfaces, names that
// are none, and texts and shares that are not allowed.
//
// In come structs, out come sentences about their fields, by name. The package does not know what the fields
// mean.
package fields

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// ErrInvalid is what errors.Is finds in an error about a configuration or a request that can never work as it
// is.
var ErrInvalid = errors.New("invalid configuration or request")

// Invalid returns err, of the same text, as an error in which errors.Is finds ErrInvalid too; nil if err is
// nil.
func Invalid(err error) error {
	if err == nil {
		return nil
	}
	return &invalid{err}
}

type invalid struct{ error }

// Unwrap returns the error itself, and ErrInvalid.
func (e *invalid) Unwrap() []error { return []error{e.error, ErrInvalid} }

// Each returns the errors that errors.Join has joined in err, or err alone if it has joined none; nothing if
// err is nil.
func Each(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case ok:
		return joined.Unwrap()
	case err != nil:
		return []error{err}
	}
	return nil
}

// BareNumbers returns a sentence for each exported field of a struct, or of one to which config points, and of
// structs in it, that is a duration above zero and below least: a number without a unit is in nanoseconds.
func BareNumbers(config any, least time.Duration) []string {
	return bareNumbers(reflect.Indirect(reflect.ValueOf(config)), least)
}

// bareNumbers allocates nothing if it finds nothing, since a program may have many small configurations.
func bareNumbers(v reflect.Value, least time.Duration) (sentences []string) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !f.CanInterface(): // not exported
		case f.Type() == durationType:
			if why := BareNumber(time.Duration(f.Int()), least); why != "" {
				sentences = append(sentences, v.Type().Field(i).Name+" is "+why)
			}
		case f.Kind() == reflect.Struct:
			for _, s := range bareNumbers(f, least) {
				sentences = append(sentences, v.Type().Field(i).Name+"."+s)
			}
		}
	}
	return sentences
}

var durationType = reflect.TypeFor[time.Duration]()

// BareNumber returns what is wrong with a duration above zero and below least, and nothing of another one.
// Whole microseconds were written with a unit, most probably.
func BareNumber(d, least time.Duration) string {
	switch {
	case d <= 0 || d >= least:
		return ""
	case d%time.Microsecond == 0:
		return fmt.Sprintf("%v, want %v or more", d, least)
	}
	return fmt.Sprintf("%v, want %v or more: a number alone is in nanoseconds, %d * time.Second in seconds", d, least, int64(d))
}

// SetWithout returns a sentence for each field of a group, or of one to which group points, that is set,
// although the field that all others need is not. Prefix stands before the names of the fields. The field that
// is needed is not set either if a nil pointer is in it.
func SetWithout(prefix string, group any, needed string) (sentences []string) {
	v := reflect.Indirect(reflect.ValueOf(group))
	if !v.FieldByName(needed).IsZero() {
		return NilPointer(prefix, group, needed)
	}
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			sentences = append(sentences, fmt.Sprintf("%s%s is set, want a %s, without which it does nothing", prefix, v.Type().Field(i).Name, needed))
		}
	}
	return sentences
}

// NilPointer returns a sentence if a field of a struct, or of one to which config points, is an interface in
// which there is a nil pointer, which is not nil itself: mostly, what a function has returned beside an error.
func NilPointer(prefix string, config any, field string) []string {
	f := reflect.Indirect(reflect.ValueOf(config)).FieldByName(field)
	if f.Kind() != reflect.Interface || f.Elem().Kind() != reflect.Pointer || !f.Elem().IsNil() {
		return nil
	}
	return []string{fmt.Sprintf("%s%s is a nil %v, want one that was made without an error, or no %s at all", prefix, field, f.Elem().Type(), field)}
}

// The texts of throttle.Outage and of throttle.Spend, for throttle and for those who pass them on.
var (
	Outages = []string{"share", "closed", "open"}
	Spends  = []string{"auto", "eager", "balanced", "even"}
)

// OneOf returns a sentence if a field is none of several texts, and not empty.
func OneOf(field, value string, of []string) (sentences []string) {
	if last := len(of) - 1; value != "" && !slices.Contains(of, value) {
		sentences = append(sentences, fmt.Sprintf("%s is %q, want %s or %s", field, value, strings.Join(of[:last], ", "), of[last]))
	}
	return sentences
}

// Share returns a sentence if a field is no share of something of which a rest must be left.
func Share(field string, value float64) (sentences []string) {
	if !(value >= 0 && value < 1) {
		sentences = append(sentences, fmt.Sprintf("%s is %v, want a share from 0 to less than 1", field, value))
	}
	return sentences
}

// IsToken reports whether name is empty or a token of RFC 9110 section 5.6.2, as names of headers are.
func IsToken(name string) bool {
	return strings.TrimLeft(name, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}
