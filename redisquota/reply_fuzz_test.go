package redisquota_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/throttle/store"
)

// liar is a Client whose server replies whatever it likes.
type liar []string

func (l liar) Run(context.Context, []string, []string) ([]string, error) { return l, nil }

func (l liar) Subscribe(_ context.Context, _ string, hear func(string)) error {
	for _, text := range l {
		hear(text)
	}
	return errors.ErrUnsupported
}

// clerk is a Client that keeps what is sent, and replies.
type clerk struct {
	sent    []string
	replies liar
}

func (c *clerk) Run(_ context.Context, _, args []string) ([]string, error) {
	c.sent = args
	return c.replies, nil
}

func (c *clerk) Subscribe(context.Context, string, func(string)) error { return errors.ErrUnsupported }

// In Redis, the Counter of a Statement is called Bucket, by which processes of each version know it.
func TestCounterIsBucketInRedis(t *testing.T) {
	c := &clerk{replies: liar{"1795444435154269 0 1000 -1 0 1 1 0 0 20000 5 1 0", "", "", "60000000", "3", `{"Name":"core","Bucket":"search","Unit":"points","Limit":5000}`}}
	reply, err := (&redisquota.Store{Client: c}).Exchange(t.Context(), &store.Request{
		Version: store.Version, Bucket: "api", Member: "a", Serial: 1, Statements: []statement{{Name: "core", Counter: "search"}},
	})
	if want := (statement{Name: "core", Counter: "search", Unit: "points", Limit: 5000, Remaining: 3, Reset: time.Minute}); err != nil || len(reply.Statements) != 1 || reply.Statements[0] != want {
		t.Errorf("read %+v, %v, want %+v", reply, err, want)
	}
	if sent := strings.Join(c.sent, "\n"); !strings.Contains(sent, `"Counter":""`) || !strings.Contains(sent, `"Bucket":"search"`) {
		t.Errorf("sent %s, want the name as Bucket", sent)
	}
}

// Of a statement, requests are a unit under their name or under none: the script keeps one for both.
func TestRequestsAreOneUnit(t *testing.T) {
	sent := func(unit string) string {
		c := &clerk{replies: liar{"1795444435154269 0 1000 -1 0 1 1 0 0 20000 5 1 0", "", ""}}
		r := store.Request{Version: store.Version, Bucket: "api", Member: "a", Serial: 1, Statements: []statement{{Name: "core", Unit: unit, Limit: 9}}}
		_, _ = (&redisquota.Store{Client: c}).Exchange(t.Context(), &r)
		if r.Statements[0].Unit != unit {
			t.Errorf("the unit of the caller is %q now, want %q", r.Statements[0].Unit, unit)
		}
		return strings.Join(c.sent, "\n")
	}
	if none, named, other := sent(""), sent(quota.Requests), sent("points"); named != none || other == none {
		t.Errorf("sent\n%q of requests,\n%q without a unit", named, none)
	}
}

// FuzzReply has a server reply, and publish, whatever it likes: that is an error or a reply, and nothing
// panics.
func FuzzReply(f *testing.F) {
	f.Add("1795444435154269 1 1000 -1 0 1 1 0 0 20000 5\n\n1795444435847796:0:1:-1 1795444435887796:0:1:0:40000:50\n3/s\n60000000\n3\n{\"Name\":\"core\"}")
	f.Add("9223372036854775807 0 9223372036854775807 9223372036854775807 -9223372036854775808 -1 99999999999999999999 1 0\n\n-1")
	f.Add("0 9223372036854775807 0 0 0 0 0 0 0 0\n1\n9223372036854775807:9223372036854775807:9223372036854775807:0")
	f.Add("9223372036854775807 api\n0 api\n-1 api\nx api\n1\nsharing=9223372036854775807 api\nsharing=-1 api\nsharing= api")
	f.Fuzz(func(t *testing.T, text string) {
		l := liar(strings.Split(text, "\n"))
		s := &redisquota.Store{Client: l}
		stop, err := s.Listen("api", func(n store.News) {
			if n.Hold < 0 || n.Hold > 50*365*24*time.Hour || n.Sharing < 0 {
				t.Errorf("news %+v", n)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		m := &member{t: t, store: s, quotas: parse(t, everyKind), name: "a"}
		reply, err := s.Exchange(t.Context(), m.request(1, 1))
		if err == nil && (len(reply.Slots) > 512 || len(reply.Statements) > len(text)) {
			t.Errorf("%d bytes are %+v", len(text), reply)
		}
	})
}
