// Package fields finds mistakes in the fields of a configuration that no type forbids: durations to which somebody
// forgot the unit, fields that do nothing without another one, and names that are none.
//
// In come structs, out come sentences about their fields, by name. The package does not know what the fields mean.
package fields

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// BareNumbers returns a sentence for each exported field of the struct to which config points, and of structs in it,
// that is a duration above zero and below least: a number without a unit is in nanoseconds.
func BareNumbers(config any, least time.Duration) []string {
	return bareNumbers("", reflect.ValueOf(config).Elem(), least)
}

func bareNumbers(prefix string, v reflect.Value, least time.Duration) (sentences []string) {
	for i := range v.NumField() {
		f, t := v.Field(i), v.Type().Field(i)
		if !t.IsExported() {
			continue
		}
		if d, ok := f.Interface().(time.Duration); ok {
			if why := BareNumber(d, least); why != "" {
				sentences = append(sentences, prefix+t.Name+" is "+why)
			}
		} else if f.Kind() == reflect.Struct {
			sentences = append(sentences, bareNumbers(prefix+t.Name+".", f, least)...)
		}
	}
	return sentences
}

// BareNumber returns what is wrong with a duration above zero and below least, and nothing of another one.
func BareNumber(d, least time.Duration) string {
	if d <= 0 || d >= least {
		return ""
	}
	return fmt.Sprintf("%v, want %v or more: a number alone is in nanoseconds, %d * time.Second in seconds", d, least, int64(d))
}

// SetWithout returns a sentence for each field of a group that is set, although the field that all others need is not.
func SetWithout(name string, group any, needed string) (sentences []string) {
	v := reflect.ValueOf(group)
	if !v.FieldByName(needed).IsZero() {
		return nil
	}
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			sentences = append(sentences, fmt.Sprintf("%s.%s is set, want a %s, without which it does nothing", name, v.Type().Field(i).Name, needed))
		}
	}
	return sentences
}

// IsToken reports whether name is empty or a token of RFC 9110 section 5.6.2, as names of headers are.
func IsToken(name string) bool {
	return strings.TrimLeft(name, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}
