package filequota

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestMillis: what a process said that read milliseconds as seconds gives way to what one says that has found
// out the unit, and does not take its place: a process that joins is told nothing else.
func TestMillis(t *testing.T) {
	dir := t.TempDir()
	say := func(member string, serial int64, statements ...quota.Statement) []quota.Statement {
		t.Helper()
		s, err := Open(dir, &Options{AnyFileSystem: true})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := s.Exchange(t.Context(), &store.Request{Version: store.Version, Bucket: "b", Horizon: time.Second, Member: member, Serial: serial, Statements: statements})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Statements
	}
	const hours = 4980
	raw := quota.Statement{Limit: 20, Reset: hours * time.Hour, ResetKnown: true, Resolution: time.Second}
	read := raw
	read.Remaining, read.Reset, read.Resolution = 7, raw.Reset/1000, time.Millisecond
	for i, said := range []quota.Statement{raw, read, raw} {
		say("said it", int64(1+i), said)
		got := say("joins "+string(rune('a'+i)), 1)
		if want := []int{0, 7, 7}[i]; len(got) != 1 || got[0].Remaining != int64(want) || i > 0 && got[0].Reset > read.Reset {
			t.Errorf("step %d: %+v is told, want %d left", i, got, want)
		}
	}
}
