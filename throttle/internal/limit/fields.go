package limit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// CheckFields returns what is wrong with the fields of a throttle.Limiter, to which limiter points, but its Quotas: a
// Reserve that is no share; durations that were probably meant to be in another unit; and, if storeless says that there
// are any, fields that do nothing without a Store.
func CheckFields(limiter any, reserve float64, storeless bool) error {
	var wrong []error
	if !(reserve >= 0 && reserve < 1) {
		wrong = append(wrong, fmt.Errorf("throttle: Reserve is %v, want a share from 0 to less than 1", reserve))
	}
	v := reflect.ValueOf(limiter).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Int64 && f.CanInterface() && isBare(time.Duration(f.Int())) && f.Type() == reflect.TypeFor[time.Duration]() {
			wrong = append(wrong, CheckDuration(v.Type().Field(i).Name, time.Duration(f.Int())))
		}
		if !storeless {
			continue
		}
		if name := v.Type().Field(i).Name; slices.Contains(ofStore[:], name) && !f.IsZero() {
			wrong = append(wrong, fmt.Errorf("throttle: %s is set, want a Store, without which it does nothing", name))
		}
	}
	return errors.Join(wrong...)
}

// ofStore are the fields that do nothing without a Store.
var ofStore = [...]string{"StoreName", "Outage", "Late", "StoreEvent"}

// CheckDuration returns an error if d was probably meant to be in another unit.
func CheckDuration(name string, d time.Duration) error {
	if !isBare(d) {
		return nil
	}
	return fmt.Errorf("throttle: %s is %v, want 1µs or more: a number alone is in nanoseconds, %d * time.Second in seconds", name, d, int64(d))
}

// isBare reports whether d is so short that it is a number to which somebody forgot the unit.
func isBare(d time.Duration) bool { return d > 0 && d < time.Microsecond }
