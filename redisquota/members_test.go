package redisquota_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// TestStoreAfterALeave: copies of what a member asked before it left are of no use to anybody when they come
// after that, and lose the bucket for nobody.
func TestStoreAfterALeave(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			to := goredis.New(dial(t, start(t)))
			stays := &member{t: t, store: to, quotas: parse(t, "60/m log"), name: "stays"}
			stays.open()
			leaves := &member{t: t, store: to, quotas: stays.quotas, name: "leaves"}
			var sent []*store.Request
			for range 8 {
				r := leaves.request(1, 1)
				r.Answered = leaves.serial - 1
				if leaves.serial == 8 {
					r.Leave, r.Asks = true, nil
				}
				leaves.send(r)
				sent = append(sent, r)
			}
			before := stays.ask(1, 0)
			for _, i := range []int{4, 6, 7} {
				if r := leaves.send(sent[i]); r.Lost || len(r.Slots) > 0 {
					t.Errorf("the copy of %d got %+v", sent[i].Serial, r)
				}
			}
			if r := stays.ask(1, 0); r.Lost || r.Known < before.Known || r.Members != 1 || r.Sharing != 1 {
				t.Errorf("after the copies %+v, before %+v", r, before)
			}
		})
	}
}

// TestStoreForgetsMembers: members that ended without a word, or have left, are forgotten when they matter no
// more, however many others do matter.
func TestStoreForgetsMembers(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	now, n := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC), 0
	for kind, o := range map[string]func(i int) (shares, leaves bool){
		"shares": func(int) (bool, bool) { return true, false },
		"closed": func(int) (bool, bool) { return false, false },
		"leaves": func(int) (bool, bool) { return true, true },
		"all":    func(i int) (bool, bool) { return i%2 == 0, i%4 > 1 },
	} {
		flushAll(t, c)
		for i := range 150 {
			n++
			m := &member{t: t, store: goredis.New(c), quotas: parse(t, "100/h even"), name: fmt.Sprint(kind, n)}
			now = now.Add(time.Minute)
			s.Mini.SetTime(now)
			shares, leaves := o(i)
			r := m.request(1, 1)
			r.GoesOn = shares
			m.send(r)
			if leaves {
				r = m.request(1, 0)
				r.Leave = true
				m.send(r)
			}
		}
		known, err := c.HLen(t.Context(), "{pacer:api}:members").Result()
		active, err2 := c.ZCard(t.Context(), "{pacer:api}:active").Result()
		if err != nil || err2 != nil || known > 65 || active != known {
			t.Errorf("%s: %d members are known, and %d in their order, %v, %v; want some 61", kind, known, active, err, err2)
		}
	}
}
