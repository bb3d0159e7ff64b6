package store_test

import (
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

func TestStatementDoubt(t *testing.T) {
	for _, c := range []struct {
		statement quota.Statement
		want      time.Duration
	}{
		{quota.Statement{}, 500 * time.Millisecond},
		{quota.Statement{Resolution: time.Second}, 1500 * time.Millisecond},
		{quota.Statement{Resolution: -time.Second}, 500 * time.Millisecond},
		{quota.Statement{Resolution: time.Second, Absolute: true}, 3 * time.Second},
		{quota.Statement{Resolution: math.MaxInt64, Absolute: true}, math.MaxInt64},
	} {
		if got := store.Doubt(&c.statement); got != c.want {
			t.Errorf("%+v: %v, want %v", c.statement, got, c.want)
		}
	}
}
