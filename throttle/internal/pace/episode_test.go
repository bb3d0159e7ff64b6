package pace

import (
	"testing"
	"time"
)

// TestEpisodesRates: an episode lasts until the next one begins. Where the server did not say for how long it
// refuses, half of the time from the last refusal to the first request that was served is left out.
func TestEpisodesRates(t *testing.T) {
	const s = time.Second
	served, now := start.Add(14*s), start.Add(20*s)
	for _, test := range []struct {
		name        string
		second      episode // began after 10 s, in which 10 were served
		latest, all float64
		over        time.Duration
	}{
		{"hinted", episode{hinted: true, servedFrom: served, served: 30}, 3, 2, 20 * s},
		{"not hinted", episode{servedFrom: served, served: 32}, 4, 42.0 / 18, 18 * s},
		{"nothing was served", episode{}, 0, 0.5, 20 * s},
	} {
		second := test.second
		second.start, second.lastRefusal = start.Add(10*s), start.Add(10*s)
		var e episodes
		e.begin(episode{start: start, lastRefusal: start, hinted: true, servedFrom: start, served: 10})
		e.next(second)
		if latest, all, over := e.rates(now); latest != test.latest || all != test.all || over != test.over {
			t.Errorf("%s: %v/s of late, %v/s over %v, want %v/s, %v/s over %v", test.name, latest, all, over, test.latest, test.all, test.over)
		}
	}
}

// TestEpisodesNext: the latest episodes are kept.
func TestEpisodesNext(t *testing.T) {
	var e episodes
	e.begin(episode{served: 1})
	for n := range maxEpisodes {
		e.next(episode{served: n + 2})
	}
	for i, got := range e.list {
		if got.served != i+2 {
			t.Errorf("%+v is the %d-th of the latest episodes, want one of %d tokens", got, i, i+2)
		}
	}
}

// TestEpisodesCarryOn: a refusal that belongs to the latest episode is its last one, and what was served before
// that does not say when the server began to serve.
func TestEpisodesCarryOn(t *testing.T) {
	var e episodes
	e.begin(episode{start: start, lastRefusal: start, servedFrom: start.Add(1), served: 1})
	e.carryOn(start.Add(2))
	if got, want := *e.latest(), (episode{start: start, lastRefusal: start.Add(2), served: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestEpisodesServeLate: the episode begins when the last of those is answered that were on their way when the
// server refused, unless another one has been served by then.
func TestEpisodesServeLate(t *testing.T) {
	for _, served := range []int{0, 1} {
		var e episodes
		e.begin(episode{start: start, lastRefusal: start})
		e.measuredFrom = start
		e.serve(start.Add(1), served)
		e.serveLate(start.Add(2))
		want := start.Add(2)
		if served > 0 {
			want = start
		}
		if got := e.latest(); got.start != want || got.lastRefusal != want || e.measuredFrom != want {
			t.Errorf("%d served: %+v, measured from %v, want all at %v", served, got, e.measuredFrom, want)
		}
	}
}
