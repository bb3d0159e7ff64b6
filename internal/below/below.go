// Package below looks for a RoundTripper below another one.
//
// In comes a RoundTripper; out comes whether one of a type is in it, or none at all. The package knows how
// RoundTrippers and clients are made of each other, and nothing of what they do.
package below

import (
	"net/http"
	"reflect"
	"slices"
)

// Has reports whether rt is a T, or wraps one: in a field, possibly through further RoundTrippers, clients of
// net/http, or values of the types in through. A T that only a function refers to is not found.
func Has[T http.RoundTripper](rt http.RoundTripper, through ...reflect.Type) bool {
	s := search{reflect.TypeFor[T](), append(through, clientType), map[any]bool{}}
	return rt != nil && s.reaches(reflect.ValueOf(rt))
}

// IsNil reports whether rt is a nil pointer or func of a type that is a RoundTripper: nothing that could send.
func IsNil(rt http.RoundTripper) bool {
	switch v := reflect.ValueOf(rt); v.Kind() {
	case reflect.Pointer, reflect.Func:
		return v.IsNil()
	}
	return false
}

// search looks for a value of a type.
type search struct {
	wanted  reflect.Type
	through []reflect.Type // types of fields that are looked into, beside RoundTrippers
	seen    map[any]bool   // pointers that were followed
}

// reaches reports whether v is of the wanted type, or wraps such a value.
func (s *search) reaches(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case !v.IsValid() || v.Type() == leafType:
		return false
	case v.Type() == s.wanted:
		return v.Kind() != reflect.Pointer || !v.IsNil()
	case v.Kind() == reflect.Pointer:
		p := [2]any{v.UnsafePointer(), v.Type()}
		if s.seen[p] {
			return false
		}
		s.seen[p] = true
		return s.reaches(v.Elem())
	case v.Kind() != reflect.Struct:
		return false
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if (f.Type().Implements(roundTripperType) || slices.Contains(s.through, f.Type())) && s.reaches(f) {
			return true
		}
	}
	return false
}

var (
	roundTripperType = reflect.TypeFor[http.RoundTripper]()
	clientType       = reflect.TypeFor[*http.Client]()
	leafType         = reflect.TypeFor[*http.Transport]()
)
