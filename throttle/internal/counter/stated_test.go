package counter

import "testing"

// TestStated: of each counter, its latest answer is stated, in whatever order answers come.
func TestStated(t *testing.T) {
	var h history
	for _, a := range []answer{
		{path: "/b", limit: 1000, remaining: 999},
		{path: "/a", limit: 10, remaining: 8},
		{path: "/a", limit: 10, remaining: 3},
		{path: "/a", limit: 10, remaining: 5, overlaps: true},
		{path: "/b", limit: 1000, remaining: 998},
	} {
		a.reset = 60
		h.hear(a)
	}
	for path, want := range map[string]int{"/a": 3, "/b": 998} {
		if st := h.Stated(h.Of("GET", path)); st.Remaining != want || st.Sent == 0 || st.Heard == 0 {
			t.Errorf("%s: %+v, want that %d remain", path, st, want)
		}
	}
	if st := h.Stated("another"); st != (Stated{}) {
		t.Errorf("of another counter: %+v", st)
	}
}
