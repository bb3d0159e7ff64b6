package redisquota_test

import (
	"strings"
	"testing"

	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// What a member has learned of a server, the first reply to another one says.
func TestTaught(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			s := goredis.New(c)
			long := strings.Repeat("x", store.MaxLearned+1)
			for i, step := range []struct {
				member        string
				serial        int64
				learned, want string
			}{
				{"a", 1, "", ""},
				{"a", 2, "one\n{\"two\"} 3 ", ""},
				{"b", 1, "two", "one\n{\"two\"} 3 "},
				{"b", 2, long, ""}, // is passed over
				{"b", 3, "", ""},
				{"c", 1, long[1:], "two"},
				{"d", 1, "", long[1:]},
			} {
				reply, err := s.Exchange(t.Context(), &store.Request{Version: 1, Bucket: "b", Member: step.member, Serial: step.serial, Learned: step.learned})
				if err != nil {
					t.Fatal(err)
				}
				if reply.Learned != step.want {
					t.Errorf("step %d: %.20q is said, want %.20q", i, reply.Learned, step.want)
				}
			}
			// What somebody else has written is not believed.
			for _, text := range []string{"", "x", "-5 x", "99999999999999999 x", "1 x"} {
				if err := c.HSet(t.Context(), "{pacer:b}:state", "learned", text).Err(); err != nil {
					t.Fatal(err)
				}
				reply, err := s.Exchange(t.Context(), &store.Request{Version: 1, Bucket: "b", Member: "of " + text, Serial: 1})
				if err != nil || reply.Learned != "" {
					t.Errorf("%q: %q is said, %v", text, reply.Learned, err)
				}
			}
		})
	}
}
