package attempt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Who has given up gets an error, also where there is nothing to wait for.
func TestSleep(t *testing.T) {
	canceled, cause := errors.New("canceled"), errors.New("enough")
	const never = time.Hour
	for name, test := range map[string]struct {
		d, ends, closed time.Duration
		want            error
		took            time.Duration
	}{
		"whole":              {time.Second, never, never, nil, time.Second},
		"none":               {0, never, never, nil, 0},
		"negative":           {-1, never, never, nil, 0},
		"ended":              {time.Second, time.Second - 1, never, cause, time.Second - 1},
		"ended before none":  {0, -1, never, cause, 0},
		"closed":             {time.Second, never, time.Second - 1, canceled, time.Second - 1},
		"closed before none": {0, never, -1, canceled, 0},
		"both before none":   {0, -1, -1, cause, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				closed := make(chan struct{})
				at := func(d time.Duration, f func()) {
					if d < 0 {
						f()
						return
					}
					timer := time.AfterFunc(d, f)
					t.Cleanup(func() { timer.Stop() })
				}
				at(test.ends, func() { cancel(cause) })
				at(test.closed, func() { close(closed) })
				start := time.Now()
				err := Sleep(ctx, test.d, closed, canceled)
				if took := time.Since(start); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || took != test.took {
					t.Errorf("got %v after %v, want %v after %v", err, took, test.want, test.took)
				}
			})
		})
	}
}
