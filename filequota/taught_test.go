package filequota

import (
	"strings"
	"testing"

	"github.com/gopacer/pacer/throttle/store"
)

// What a member has learned of a server, the first reply to another one says; also to another process.
func TestTaught(t *testing.T) {
	dir := t.TempDir()
	ask := func(member string, serial int64, learned string) string {
		t.Helper()
		s, err := Open(dir, &Options{AnyFileSystem: true})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := s.Exchange(t.Context(), &store.Request{Version: store.Version, Bucket: "b", Member: member, Serial: serial, Learned: learned})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Learned
	}
	long := strings.Repeat("x", store.MaxLearned+1)
	for i, step := range []struct {
		member        string
		serial        int64
		learned, want string
	}{
		{"a", 1, "", ""},
		{"a", 2, "one", ""},
		{"b", 1, "two", "one"},
		{"b", 2, long, ""}, // is passed over
		{"b", 3, "", ""},
		{"c", 1, long[1:], "two"},
		{"d", 1, "", long[1:]},
	} {
		if got := ask(step.member, step.serial, step.learned); got != step.want {
			t.Errorf("step %d: %.20q is said, want %.20q", i, got, step.want)
		}
	}
}
