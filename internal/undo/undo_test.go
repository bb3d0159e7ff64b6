package undo_test

import (
	"runtime"
	"testing"

	"github.com/gopacer/pacer/internal/undo"
)

func TestOnPanic(t *testing.T) {
	for name, test := range map[string]struct {
		f        func()
		back     bool
		panicked any
	}{
		"returns": {func() {}, false, nil},
		"panics":  {func() { panic("own") }, true, "own"},
		"leaves":  {runtime.Goexit, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			back, ended := false, make(chan any)
			go func() {
				defer func() { ended <- recover() }()
				undo.OnPanic(test.f, func() { back = true })
			}()
			if panicked := <-ended; panicked != test.panicked || back != test.back {
				t.Errorf("panicked with %v, called back %v, want %v and %v", panicked, back, test.panicked, test.back)
			}
		})
	}
}
