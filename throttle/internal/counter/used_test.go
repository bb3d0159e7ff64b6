package counter

import "testing"

// TestStatedUse: what is stated of a counter comes with what was used of it since its window began, in whatever
// order answers come, and with what was used of all counters.
func TestStatedUse(t *testing.T) {
	var h history
	for _, a := range []answer{
		{path: "/b", limit: 1000, remaining: 999},
		{path: "/a", limit: 10, remaining: 2}, // of the window before
		{path: "/a", limit: 10, remaining: 8},
		{path: "/a", limit: 10, remaining: 3},
		{path: "/a", limit: 10, remaining: 5, overlaps: true},
		{path: "/a", limit: 10, remaining: 0},
		{path: "/a", limit: 10, remaining: 0, refused: true},
		{path: "/b", limit: 1000, remaining: 998},
		{path: "/b", limit: 1000, remaining: 989},
	} {
		a.reset = 60
		h.hear(a)
	}
	type use struct{ atStart, ours, allUsed, allOurs int }
	for path, want := range map[string]use{"/a": {9, 4, 20, 7}, "/b": {1000, 3, 20, 7}} {
		st := h.Stated(h.Of("GET", path))
		if got := (use{int(st.AtStart), int(st.Ours), int(st.AllUsed), int(st.AllOurs)}); got != want || st.Since == 0 || (st.Spent != 0) != (path == "/a") {
			t.Errorf("%s: %+v, want %+v; %+v", path, got, want, st)
		}
	}
	if st := h.Stated("another"); st != (Stated{}) {
		t.Errorf("of another counter: %+v", st)
	}
}
