package pictures

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// class is how much a server says, and the server of which a picture is drawn.
type class struct {
	name, title string
	algorithm   pacertest.Algorithm
	dialect     pacertest.Dialect
}

var classes = []class{
	{"exact", "Remaining, and the reset to the millisecond; 20 in 4 s", &pacertest.FixedWindow{Limit: 20, Window: 4 * time.Second}, pacertest.OpenAI},
	{"coarse", "Resets in whole seconds; a bucket of 8, 5 a second", &pacertest.TokenBucket{Rate: 5, Burst: 8}, pacertest.XRateLimitDelta},
	{"hint", "A Retry-After alone; a bucket of 8, 5 a second", &pacertest.TokenBucket{Rate: 5, Burst: 8}, pacertest.RetryAfterOnly},
	{"silent", "Nothing but refusals; a bucket of 8, 5 a second", &pacertest.TokenBucket{Rate: 5, Burst: 8}, pacertest.NoHeaders},
}

// TestLearning draws docs/learning-….svg: what a server sees of a program that is told nothing, by how much the
// server says.
func TestLearning(t *testing.T) {
	for _, c := range classes {
		t.Run(c.name, func(t *testing.T) {
			compare(t, "learning-"+c.name+".svg", c.draw(c.run(t)))
		})
	}
}

// run sends 100 requests, one after the other: which of two goes first at one instant is a matter of chance.
func (c *class) run(t *testing.T) (stats pacertest.Stats) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		server := pacertest.NewServer(c.algorithm.Fresh(), c.dialect)
		defer server.Close()
		way := server.Transport()
		tr := &pacer.Transport{Rand: func() float64 { return 0.5 }, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(20 * time.Millisecond)
			return way.RoundTrip(req)
		})}
		for range 100 {
			lab.Get(t, &http.Client{Transport: tr}, "http://api.example.com/")
		}
		stats = server.Stats()
	})
	return stats
}

// draw draws what the server saw, in bins of 250 ms.
func (c *class) draw(stats pacertest.Stats) *picture {
	const (
		bin     = 250 * time.Millisecond
		wide    = 7
		bins    = 90
		request = 4 // the height of one
		highest = 20
		lowest  = 6
	)
	p := newPicture(c.title)
	p.text("", edge+16, "served in 250 ms")
	p.words("", edge+206, p.y, "refused, and sent again")
	p.path("one", "M%d %dh10v10h-10z", edge, p.y-11)
	p.path("two", "M%d %dh10v10h-10z", edge+190, p.y-11)
	result := fmt.Sprintf("%d served in %.1f s, %d refused", stats.Admitted, stats.Last.Sub(stats.First).Seconds(), stats.Refused)
	p.text("name", edge, result)
	p.said = append(p.said, result)
	var served, refused [bins]int
	for _, e := range stats.Events {
		if i := min(int(e.Time.Sub(stats.First)/bin), bins-1); e.Status == http.StatusOK {
			served[i]++
		} else {
			refused[i]++
		}
	}
	zero := p.y + 10 + highest*request
	for s := 0; s <= int(bins*bin/time.Second); s += 2 {
		p.path("tick", "M%d.5 %dV%d", edge+s*int(time.Second/bin)*wide, p.y+10, zero+lowest*request)
	}
	p.path("line", "M%d %d.5h%d", edge, zero, bins*wide)
	for i := range bins {
		if n := served[i]; n > 0 {
			p.path("one", "M%d %dv-%dh%dv%dz", edge+i*wide, zero, min(n, highest)*request, wide-2, min(n, highest)*request)
		}
		if n := refused[i]; n > 0 {
			p.path("two", "M%d %dv%dh%dv-%dz", edge+i*wide, zero+1, min(n, lowest)*request, wide-2, min(n, lowest)*request)
		}
	}
	p.y = zero + lowest*request + leading
	for s := 0; s <= int(bins*bin/time.Second); s += 4 {
		p.words("axis", edge+s*int(time.Second/bin)*wide-4, p.y, fmt.Sprintf("%d s", s))
	}
	return p
}
