package throttle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestWaitIsWhatTheServerSaid: where MaxHold lets a request find out before, the wait that is reported is what
// the server said all the same, and bounds are compared with when the request goes.
func TestWaitIsWhatTheServerSaid(t *testing.T) {
	const parked = 15 * time.Minute
	hint := Answer{Refused: true, Hold: &quota.Hold{For: time.Hour}}
	both := says(0, 2*time.Hour)
	both.Refused, both.Hold = true, hint.Hold
	for _, test := range []struct {
		name    string
		l, ask  *Limiter
		answer  Answer
		goes    time.Duration
		want    Forecast
		refused time.Duration // a MaxWait that is too short
	}{
		{"a hint", &Limiter{}, nil, hint, parked, Forecast{Wait: time.Hour, Cause: CauseHold}, parked - 1},
		{"a reset", &Limiter{}, nil, says(0, time.Hour), parked, Forecast{Wait: time.Hour, Cause: CauseWindowUsedUp, Quota: "the server's limit of 10"}, parked - 1},
		{"a hint before a reset", &Limiter{}, nil, both, parked, Forecast{Wait: time.Hour, Cause: CauseHold}, parked - 1},
		{"another MaxHold", &Limiter{MaxHold: time.Minute}, nil, hint, time.Minute, Forecast{Wait: time.Hour, Cause: CauseHold}, time.Minute - 1},
		{"no MaxHold", &Limiter{MaxHold: Forever}, nil, hint, time.Hour, Forecast{Wait: time.Hour, Cause: CauseHold}, time.Hour - 1},
		{"no MaxHold, a reset", &Limiter{MaxHold: Forever}, nil, says(0, time.Hour), time.Hour, Forecast{Wait: time.Hour, Cause: CauseWindowUsedUp, Quota: "the server's limit of 10"}, time.Hour - 1},
		{"a MaxHold of zero", &Limiter{MaxHold: -1}, nil, hint, 0, Forecast{}, 0},
		{"a MaxHold of zero, a reset", &Limiter{MaxHold: -1}, nil, says(0, time.Hour), 0, Forecast{}, 0},
		{"within MaxHold", &Limiter{}, nil, Answer{Refused: true, Hold: &quota.Hold{For: time.Minute}}, time.Minute, Forecast{Wait: time.Minute, Cause: CauseHold}, time.Minute - 1},
		{"a slow quota", &Limiter{Quotas: quotas(t, "1/20m burst 1")}, nil, hint, 20 * time.Minute, Forecast{Wait: time.Hour, Cause: CauseHold}, 20*time.Minute - 1},
		{"a slower quota", &Limiter{Quotas: quotas(t, "1/2h burst 1")}, nil, hint, 2 * time.Hour, Forecast{Wait: 2 * time.Hour, Cause: CausePace, Quota: "1/2h even"}, 2*time.Hour - 1},
		{"a parent", &Limiter{Name: "p"}, &Limiter{Quotas: quotas(t, "1/30m burst 1")}, hint, 30 * time.Minute, Forecast{Wait: time.Hour, Cause: CauseHold, Bucket: "p"}, 30*time.Minute - 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.l.Rand = noJitter
				l := test.l
				if test.ask != nil {
					l, test.ask.Parent = test.ask, test.l
					grant(t, l, Claim{})
				}
				grant(t, test.l, Claim{}).Answered(test.answer)
				if got := l.Forecast(Claim{}); got != test.want {
					t.Errorf("forecast %+v, want %+v", got, test.want)
				}
				start := time.Now()
				if test.goes > 0 {
					l.MaxWait = test.refused // read with each claim
					var e *Error
					if err := l.Wait(t.Context(), 1); !errors.As(err, &e) || !errors.Is(err, ErrMaxWait) {
						t.Fatalf("got %v, want ErrMaxWait", err)
					}
					if e.Wait != test.want.Wait || !e.At.Equal(start.Add(test.want.Wait)) || e.Cause != test.want.Cause || e.Quota != test.want.Quota || e.Bucket != test.want.Bucket {
						t.Errorf("got %+v, want a wait of %v", e, test.want.Wait)
					}
				}
				l.MaxWait = test.goes
				ctx, cancel := context.WithTimeout(t.Context(), test.goes+1)
				defer cancel()
				if err := l.Wait(ctx, 1); err != nil || time.Since(start) != test.goes {
					t.Errorf("%v after %v, want it to go after %v", err, time.Since(start), test.goes)
				}
			})
		})
	}
}

// What a server said is not reported any more once the hold is over, whatever holds the bucket then.
func TestWaitAfterWhatTheServerSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter}
		grant(t, l, Claim{}).Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Hour}})
		time.Sleep(15 * time.Minute)
		l.Pause(time.Minute)
		if got, want := l.Forecast(Claim{}), (Forecast{Wait: time.Minute, Cause: CauseHold}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		l.Resume()
		grant(t, l, Claim{}).Answered(Answer{Refused: true, Hold: &quota.Hold{For: 2 * time.Hour}})
		l.Resume()
		l.Pause(time.Second)
		if got, want := l.Forecast(Claim{}), (Forecast{Wait: time.Second, Cause: CauseHold}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
