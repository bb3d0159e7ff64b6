package filequota

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

const (
	// looksAt is at how many files whoever makes one looks. Of a directory in which as many buckets come as are
	// forgotten, a sixteenth is idle.
	looksAt = 16

	// mostNames bounds how many names of files a Store remembers to look at. To read those of 100,000 takes 80
	// ms. So of those who make one of more than mostNames files, one in mostNames/looksAt reads them all, and
	// looks at so many.
	mostNames = 1024

	// idleFor is for how long no bucket is idle after a step: see store.Ledger.Idle.
	idleFor = 24 * time.Hour
)

// removeIdle looks at some files, and removes those of buckets of which nothing is lost by forgetting them: a
// new bucket is what they are. It requires that no other process makes a file, so that none is made of that
// name meanwhile.
func (s *Store) removeIdle() {
	if !removable {
		return
	}
	n := looksAt
	if len(s.others) == 0 {
		s.others, n = bucketFiles(s.dir, rand.IntN(mostNames/looksAt) == 0)
	}
	n = min(len(s.others), n)
	for _, name := range s.others[:n] {
		removeIdle(filepath.Join(s.dir, name), s.clock())
	}
	s.others = s.others[n:]
}

// bucketFiles returns the names of files of buckets, in random order, and at how many of them to look; of many,
// some, if they are all to be read, and else none.
func bucketFiles(dir string, readAll bool) (names []string, n int) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, 0
	}
	defer d.Close()
	all, _ := d.Readdirnames(mostNames)
	if n = looksAt; len(all) == mostNames {
		if !readAll {
			return nil, 0
		}
		rest, _ := d.Readdirnames(-1)
		all, n = append(all, rest...), mostNames
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, name := range all {
		if strings.HasPrefix(name, "q-") && len(names) < mostNames {
			names = append(names, strings.Clone(name))
		}
	}
	return names, n
}

// removeIdle removes a file if its bucket is idle. Before, its state becomes that of a new bucket, for
// processes that have the file open: they take nothing along. That it fails is no error: the next one may do
// it.
func removeIdle(path string, c reading) {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || time.Duration(c.wall-st.ModTime().UnixNano()) <= idleFor {
		return // it was written lately
	}
	f, err := openAsFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if ok, _ := tryLock(f); !ok {
		return // it is in use
	}
	defer unlock(f)
	id, err := identityOf(f)
	named, size, err2 := identify(path)
	if err != nil || err2 != nil || id != named || size < stride+headerSize {
		return
	}
	if got, err := readSlots(f); err != nil || !got.idle(c) || renew(f, got.h.seq+1, c) != nil {
		return
	}
	_ = os.Remove(path)
}

// idle reports whether forgetting what is in a file loses nothing. What is lost is not forgotten: a new bucket
// has more.
func (s *slots) idle(c reading) bool {
	if !s.ok || s.later || s.h.seq >= lastSeq {
		return false
	}
	now := c.now + s.h.shift
	if s.h.restarted(c) {
		now = s.h.sinceRestart(c)
	}
	if now-s.h.now <= idleFor {
		return false
	}
	var l store.Ledger
	return s.h.length == 0 || l.UnmarshalBinary(s.state) == nil && l.Idle(now)
}

// renew writes a header that says that the bucket is new.
func renew(f *os.File, seq uint64, c reading) error {
	h := header{version: version(), seq: seq, lineage: rand.Uint64() | 1, boot: c.boot, now: c.now, asleep: c.asleep, wall: c.wall}
	_, err := f.WriteAt(packed(&h, nil), place(seq))
	return err
}
