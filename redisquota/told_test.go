package redisquota_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// TestToldPartsOfEveryUnit: however much was told of one unit, a quota of another one that comes after a loss is charged with what was told of that, as store.Ledger does.
func TestToldPartsOfEveryUnit(t *testing.T) {
	for _, seconds := range []int{1, 63, 64, 65} {
		s := mini(t)
		shared := goredis.New(dial(t, s))
		start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		model := &store.Ledger{Epoch: start.Add(-time.Hour)}
		model.Lose()
		send := func(at time.Duration, who, text string, own ...store.Own) {
			r := &store.Request{
				Version: 1, Bucket: "api", Quotas: parse(t, text), Late: 20 * time.Millisecond, Horizon: 500 * time.Millisecond,
				Member: who, Serial: 1, Own: own,
			}
			s.Mini.SetTime(start.Add(at))
			got, err := shared.Exchange(t.Context(), r)
			want, _, wrong := model.Exchange(time.Hour+at, r)
			if err != nil || wrong != nil {
				t.Fatal(err, wrong)
			}
			if !reflect.DeepEqual(got.Left, want.Left) {
				t.Errorf("%d seconds of another unit: %s after %v: %d are left, want %d", seconds, who, at, got.Left, want.Left)
			}
		}
		var own []store.Own
		for i := range seconds {
			own = append(own, store.Own{In: -time.Duration(i) * time.Second, Cost: []int{7}})
		}
		send(2*time.Second, "a", "1000/2m log", own...)
		send(2*time.Second, "b", "500 tokens/20s log", store.Own{In: -100 * time.Millisecond, Cost: []int{400}})
		send(3*time.Second, "late", "450 tokens/20s window grid, 1000/100s log")
		send(19*time.Second, "later", "450 tokens/20s window grid, 1000/100s log")
	}
}
