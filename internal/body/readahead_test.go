package body

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What was looked into or read ahead is the same, byte for byte, and with the same end, however it
// comes.
func TestHandedOn(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 10_000) // more than is read ahead
	for name, test := range map[string]struct {
		parts []string
		every time.Duration
		end   error
		peek  int           // how much Peek of 1000 bytes finds
		took  time.Duration // Peek, which waits for a body that trickles up to 100 ms
	}{
		"short":    {[]string{"{", "}"}, 0, io.EOF, 2, 0},
		"empty":    {nil, 0, io.EOF, 0, 0},
		"long":     {[]string{long}, 0, io.EOF, 1000, 0},
		"broken":   {[]string{`{"a":`}, 0, io.ErrUnexpectedEOF, 5, 0},
		"trickles": {strings.Split(long[:100], ""), 30 * time.Millisecond, io.EOF, 4, 120 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := strings.Join(test.parts, "")
				check := func(how string, source *slowly, whole io.ReadCloser) {
					t.Helper()
					wantErr := test.end
					if errors.Is(wantErr, io.EOF) {
						wantErr = nil
					}
					if got, err := io.ReadAll(whole); string(got) != want || !errors.Is(err, wantErr) {
						t.Errorf("%s: %d bytes, %v, want %d, %v", how, len(got), err, len(want), wantErr)
					}
					whole.Close()
					if _, err := whole.Read(make([]byte, 1)); !source.closed.Load() || err == nil {
						t.Errorf("%s: closed: %v; read after that: %v", how, source.closed.Load(), err)
					}
				}
				source := &slowly{parts: append([]string{}, test.parts...), every: test.every, end: test.end}
				start := time.Now()
				begin, whole := Peek(source, 1000)
				if took := time.Since(start); string(begin) != want[:test.peek] || took != test.took {
					t.Errorf("Peek found %d bytes after %v, want %d after %v", len(begin), took, test.peek, test.took)
				}
				check("Peek", source, whole)

				source = &slowly{parts: append([]string{}, test.parts...), every: test.every, end: test.end}
				start = time.Now()
				whole = ReadAhead(source)
				if again := ReadAhead(whole); again != whole {
					t.Error("what is being read ahead is wrapped once more")
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("ReadAhead took %v", took)
				}
				check("ReadAhead", source, whole)
			})
		})
	}
}

// A body is read ahead while nobody reads it, as far as that goes.
func TestReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{0, 1, aheadLimit - 1, aheadLimit, aheadLimit + 1, 3 * aheadLimit} {
			r := strings.NewReader(strings.Repeat("x", n))
			b := ReadAhead(&tracked{Reader: r})
			synctest.Wait()
			if left := r.Len(); left != max(n-aheadLimit, 0) {
				t.Errorf("of %d bytes %d are left", n, left)
			}
			b.Close()
		}
	})
}
