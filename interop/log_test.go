package interop

import (
	"net/http"
	"strings"
	"testing"
)

func TestWriteLog(t *testing.T) {
	events := made([2]int{0, 200}, [2]int{1500, 429})
	events[0].header = http.Header{"Ratelimit": {`"a";r=1;t=2`, `"b";r=0;t=9`}, "Date": {"today"}}
	events[1].header = http.Header{"X-Ratelimit-Reset": {"2"}, "Retry-After": {"3"}}
	clients := "12:00:01.000000    queued: 1 s\n12:00:02.000000    held\n"
	want := `12:00:00.000000 200 Ratelimit: "a";r=1;t=2, "b";r=0;t=9
12:00:01.000000    queued: 1 s
12:00:01.500000 429 Retry-After: 3; X-Ratelimit-Reset: 2
12:00:02.000000    held
`
	var b strings.Builder
	if err := writeLog(&b, events, clients); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
