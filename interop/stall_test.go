package interop

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := watch()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := end(); got != 0 {
			t.Errorf("late by %v, want 0: time stands still here when something is done", got)
		}
	})
}
