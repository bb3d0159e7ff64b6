// Package readable writes what people read: snapshots as JSON, and errors.
//
// In come values; out comes text. The package does not know what the values mean.
package readable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gopacer/pacer/internal/visible"
)

// JSON returns the JSON of v: structs in the order of their exported fields, whose names begin with a small
// letter; durations, to about three digits, and errors as text. Fields that are zero are left out, but for
// those with a tag "json", which is their name. Those with the tag "-" are left out in any case.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b, reflect.ValueOf(v))
	return b.Bytes(), err
}

func write(b *bytes.Buffer, v reflect.Value) error {
	switch x := v.Interface().(type) {
	case time.Duration:
		return writeText(b, Round(x).String())
	case error:
		return writeText(b, visible.Failure(x))
	}
	switch v.Kind() {
	case reflect.Pointer:
		return write(b, v.Elem())
	case reflect.Struct:
		return list(b, "{}", func(next func()) error { return writeFields(b, v, next) })
	case reflect.Slice:
		return list(b, "[]", func(next func()) error {
			for i := range v.Len() {
				next()
				if err := write(b, v.Index(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	text, err := json.Marshal(v.Interface())
	b.Write(text)
	return err
}

func writeFields(b *bytes.Buffer, v reflect.Value, next func()) error {
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		name, always := f.Tag.Lookup("json")
		if !f.IsExported() || name == "-" || !always && (value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0) {
			continue
		}
		if !always {
			first, size := utf8.DecodeRuneInString(f.Name)
			name = string(unicode.ToLower(first)) + f.Name[size:]
		}
		next()
		if err := writeText(b, name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := write(b, value); err != nil {
			return err
		}
	}
	return nil
}

// list writes brackets around what elements writes, which calls next before each.
func list(b *bytes.Buffer, brackets string, elements func(next func()) error) error {
	b.WriteByte(brackets[0])
	separator := ""
	err := elements(func() {
		b.WriteString(separator)
		separator = ","
	})
	b.WriteByte(brackets[1])
	return err
}

func writeText(b *bytes.Buffer, s string) error {
	text, err := json.Marshal(s)
	b.Write(text)
	return err
}

// Round keeps about three digits of a duration, enough for a person.
func Round(d time.Duration) time.Duration {
	switch {
	case d > time.Minute:
		return d.Round(time.Second)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d
}

// Lasting is d as people say it: rounded, and from two days on in days and hours, as "30d12h".
func Lasting(d time.Duration) string {
	const day = 24 * time.Hour
	if d = Round(d); d < 2*day {
		return d.String()
	}
	d = d.Round(time.Hour)
	text := fmt.Sprintf("%dd", d/day)
	if hours := d % day / time.Hour; hours > 0 {
		text += fmt.Sprintf("%dh", hours)
	}
	return text
}
