package contract

import (
	"context"
	"net/http"
)

// others asks what a request does to connections that it does not need.
func others() []Question {
	return []Question{
		{
			Name: "idle connections: kept if another host fails · closed by `CloseIdleConnections`",
			Rule: "they are not its own; http.Client passes it on", Right: []string{"yes · yes"},
			ask: connections,
		},
	}
}

func fine(http.ResponseWriter, *http.Request, int) {}

func connections(ctx context.Context, p Peer) (string, error) {
	kept, err := kept(ctx, p)
	if err != nil {
		return "", err
	}
	closed, err := closesIdle(ctx, p)
	return choose(kept, "yes", "no") + " · " + choose(closed, "yes", "no"), err
}

// kept has a request to one server fail between two to another. An answer without a body is in
// when its connection is idle.
func kept(ctx context.Context, p Peer) (bool, error) {
	good := newLab(fine)
	defer good.close()
	bad := newLab(func(w http.ResponseWriter, _ *http.Request, _ int) { answer(w, http.StatusInternalServerError, "") })
	defer bad.close()
	rt := p.wrap(good.base, short)
	for _, l := range []*lab{good, bad, good} {
		if _, err := l.get(ctx, rt); err != nil {
			return false, err
		}
	}
	return good.connections.Load() == 1, nil
}

// closesIdle asks an http.Client to close its connections between two requests.
func closesIdle(ctx context.Context, p Peer) (bool, error) {
	l := newLab(fine)
	defer l.close()
	c := &http.Client{Transport: p.wrap(l.base, short)}
	for range 2 {
		req, err := l.request(ctx, http.MethodGet, http.NoBody)
		if err != nil {
			return false, err
		}
		do(req, c.Do)
		c.CloseIdleConnections()
	}
	return l.connections.Load() == 2, nil
}
