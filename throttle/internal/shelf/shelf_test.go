package shelf

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// As package adaptive has them: limits of a bucket, and how long a list is that is read at once.
const maxWindows, shortList = 16, 16 << 10

// TestReadIsBounded: of a text of much that is nothing no more is made than is kept, and a bucket that is not
// what Write wrote is an error that says where.
func TestReadIsBounded(t *testing.T) {
	many := strings.Builder{}
	for i := range room + 1 {
		fmt.Fprintf(&many, `"%d":{},`, i)
	}
	for name, test := range map[string]struct {
		buckets             string
		n, windows, charged int
	}{
		"limits":      {`"a":{"windows":[` + strings.Repeat("{},", 100_000) + `{}]}`, 1, maxWindows, 0},
		"few limits":  {`"a":{"windows":[` + strings.Repeat("{},", 5000) + `{}]}`, 1, maxWindows, 0},
		"some limits": {`"a":{"windows":[{},{}]}`, 1, 2, 0},
		"quotas":      {`"a":{"used":[` + strings.Repeat("{},", 100_000) + `{}]}`, 1, 0, limit.MaxUsed},
		"buckets":     {many.String() + `"a":{}`, room, 0, 0},
		"silent":      {`"a":{"silent":{"went":[` + strings.Repeat("{},", 100_000) + `{}]}}`, 1, 0, 0},
		"no list":     {`"a":{"windows":null,"used":null}`, 1, 0, 0},
	} {
		text := `{"version":1,"buckets":{` + test.buckets + `}}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all, err := Read(strings.NewReader(text))
		runtime.ReadMemStats(&after)
		if m := all["a"]; err != nil || len(all) != test.n || len(m.Windows) != test.windows || len(m.Used) != test.charged || cap(m.Windows) > 2*maxWindows || cap(m.Used) > 2*limit.MaxUsed {
			t.Errorf("%s: %v, %d buckets, the first with %d of %d, %d of %d", name, err, len(all), len(m.Windows), cap(m.Windows), len(m.Used), cap(m.Used))
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(100*len(text)+10<<20) {
			t.Errorf("%s: %d bytes are made of %d", name, n, len(text))
		}
	}
	inList := " as or in a list of the bucket at byte 29" // where the bucket begins
	for buckets, want := range map[string]string{
		`"a":{},"b":{"rate":"x"}`: "string at byte 46", `"a":5`: "number at byte 29", `"a":{"windows":5}`: "number" + inList, `"a":{"used":[5]}`: "number" + inList,
		`"a":{"windows":[` + strings.Repeat(" ", shortList) + `5]}`: "number" + inList, `"a":{"rate":1,"windows":[{"limit":"x"}]}`: "string" + inList,
	} {
		if all, err := Read(strings.NewReader(`{"version":1,"buckets":{` + buckets + `}}`)); all != nil || err == nil || !strings.Contains(err.Error(), "cannot unmarshal "+want) {
			t.Errorf("%s: %v, %v", buckets, all, err)
		}
	}
}

// TestShelfIsBounded: of too many buckets the latest are kept, and what is written can be read.
func TestShelfIsBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	memory := func(age time.Duration, name string, windows int) adaptive.Memory {
		return adaptive.Memory{At: now.Add(-age), Windows: slices.Repeat([]adaptive.WindowMemory{{Name: name, Late: now.Add(time.Hour)}}, windows)}
	}
	learned := map[string]adaptive.Memory{strings.Repeat("d", 65): memory(0, "", maxWindows)} // that is no digest
	for i := range room + 100 {
		learned[strconv.Itoa(i)] = memory(time.Duration(i), "", 1)
	}
	var s Shelf
	s.Put(now, learned)
	_, last := s[strconv.Itoa(room-1)]
	if _, more := s[strconv.Itoa(room)]; len(s) != room || !last || more {
		t.Errorf("%d are kept, the latest of them: %v, %v", len(s), last, more)
	}
	clear(learned)
	most := 1 << 20
	save := func(w io.Writer, now time.Time, learned Shelf) error { return write(w, now, learned, most) }
	if whole.Wanted() { // 64 MB take seconds
		most, save = mostBytes, Write
	}
	for i := range most / 20_000 {
		learned[strconv.Itoa(i)] = memory(time.Duration(i), strings.Repeat("\n", 700), maxWindows) // two bytes each, as JSON
	}
	var text bytes.Buffer
	if err := save(&text, now, learned); err != nil {
		t.Fatal(err)
	}
	size := text.Len()
	back, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	_, first := back["0"]
	_, latest := back[strconv.Itoa(len(back)-1)]
	if len(back) == len(learned) || size > most || size < most-100<<10 || !first || !latest {
		t.Errorf("%d of %d are in %d bytes; the latest of them: %v", len(back), len(learned), size, first && latest)
	}
}
