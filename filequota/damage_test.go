//go:build unix

package filequota

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

var damaging = flag.Uint64("damages", 15, "how many histories TestDamage tries")

// damage is what may happen to the file of a bucket, and to its directory.
type damage struct {
	name  string
	loose bool // what was handed out last is nowhere then: something may be over
	do    func(r *rand.Rand, path string) error
}

// rewrite has somebody else write the file.
func rewrite(name string, loose bool, change func(r *rand.Rand, b []byte) []byte) damage {
	return damage{name, loose, func(r *rand.Rand, path string) error {
		b, err := os.ReadFile(path)
		if err == nil { // else nobody has used it
			err = os.WriteFile(path, change(r, b), 0o600)
		}
		return err
	}}
}

var damages = []damage{
	rewrite("truncated", false, func(*rand.Rand, []byte) []byte { return nil }),
	rewrite("cut", false, func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(min(len(b), shortestFile)+1)] }),
	rewrite("zeroed", false, func(_ *rand.Rand, b []byte) []byte { clear(b); return b }),
	rewrite("noise", false, func(r *rand.Rand, b []byte) []byte {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}),
	rewrite("flipped", true, func(r *rand.Rand, b []byte) []byte {
		for _, at := range []int64{0, stride} {
			if i := int(at) + r.IntN(headerSize); i < len(b) {
				b[i] ^= 1 << r.IntN(8)
			}
		}
		return b
	}),
	rewrite("longer", false, func(_ *rand.Rand, b []byte) []byte { return append(b, make([]byte, 1<<20)...) }),
	{"removed", true, func(_ *rand.Rand, path string) error { return os.RemoveAll(path) }},
	{"directory removed", true, func(_ *rand.Rand, path string) error { _ = os.RemoveAll(filepath.Dir(path)); return nil }},
	{"directory renamed", true, func(r *rand.Rand, path string) error {
		dir := filepath.Dir(path)
		_ = os.Rename(dir, fmt.Sprint(dir, r.Uint64()))
		return nil
	}},
	{"copied over", true, func(_ *rand.Rand, path string) error {
		b, err := os.ReadFile(path)
		if err == nil {
			err = errors.Join(os.WriteFile(path+".copy", b, 0o600), os.Rename(path+".copy", path))
		}
		return err
	}},
	{"a directory", true, func(_ *rand.Rand, path string) error {
		_ = os.Remove(path)
		_ = os.Mkdir(path, 0o700)
		time.Sleep(300 * time.Millisecond)
		return os.RemoveAll(path)
	}},
}

// TestDamage: whatever happens to the file of a bucket and to its directory, one thing after the other, while
// processes use it: no more goes than the quotas allow, and soon after the last of it all goes on.
func TestDamage(t *testing.T) {
	for seed := range *damaging {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "shared")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { damaged(t, rand.New(rand.NewPCG(seed, 1)), dir) })
		})
	}
}

func damaged(t *testing.T, r *rand.Rand, dir string) {
	t.Helper()
	const over, end = 6 * time.Second, 12 * time.Second
	start := time.Now()
	q := quota.MustParse([]string{"20/s burst 10", "20/s log", "20/2s window", "30/3s sliding", "20/s burst 10, 30/2s log"}[r.IntN(5)])
	var wg sync.WaitGroup
	var mu sync.Mutex
	var sent []time.Duration
	var done atomic.Int32
	var wall atomic.Int64
	var all []*throttle.Limiter
	loose, report := false, ""
	for i := range 2 + r.IntN(2) {
		s := opened(t, dir, start.Add(-time.Hour))
		clock := s.clock
		s.clock = func() reading { c := clock(); c.wall += wall.Load(); return c }
		l := &throttle.Limiter{Name: "api", Quotas: q, Shared: throttle.Shared{Store: s, Outage: throttle.OutageClosed}}
		all = append(all, l)
		for range 3 {
			r := rand.New(rand.NewPCG(r.Uint64(), uint64(i)))
			wg.Go(func() {
				for time.Since(start) < end {
					g, err := l.Acquire(t.Context(), throttle.Claim{})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if sent = append(sent, time.Since(start)); time.Since(start) > over+time.Second {
						done.Add(1)
					}
					mu.Unlock()
					g.Done()
					time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
				}
			})
		}
	}
	for range 1 + r.IntN(6) {
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		if r.IntN(6) == 0 {
			wall.Add(int64(time.Duration(r.IntN(7200)-3600) * time.Second))
			report += fmt.Sprint(" wall clock set at ", time.Since(start))
			continue
		}
		d := damages[r.IntN(len(damages))]
		loose = loose || d.loose
		report += fmt.Sprint(" ", d.name, " at ", time.Since(start))
		if err := d.do(r, filepath.Join(dir, fileName("api"))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	wg.Wait()
	for _, l := range all {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	least := math.MaxInt // eight tenths of what whole windows grant
	for _, q := range q.Explicit() {
		least = min(least, int(q.N*int64((end-over-time.Second)/q.Per)*8/10))
	}
	if int(done.Load()) < least {
		t.Errorf("%v,%s: %d went in the end, want %d", q, report, done.Load(), least)
	}
	slices.Sort(sent)
	for i, at := range sent {
		for _, q := range q.Explicit() {
			n, _ := slices.BinarySearchFunc(sent, at+q.Per, cmp.Compare[time.Duration])
			most := q.N
			if q.Kind == quota.TokenBucket {
				most += q.Burst
			}
			if !loose && int64(n-i) > most {
				t.Fatalf("%v,%s: %d in %v from %v", q, report, n-i, q.Per, at)
			}
		}
	}
}
