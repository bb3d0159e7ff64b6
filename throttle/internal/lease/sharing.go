package lease

import (
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// mostSharing is how many processes shared a bucket lately at the most: so many have something to tell when a
// store has lost it.
type mostSharing struct {
	most, second int           // second is the most since at
	at           monotime.Time // when it was the most last
	parted       monotime.Time // when the store said last that one had left lately; zero if never
	before       int           // how many shared it until the loss of which a reply told at lostAt; zero once that is long ago
	lostAt       monotime.Time
}

// note notes how many share the bucket now. What is the most counts for three times SharingFor at the longest.
func (m *mostSharing) note(now monotime.Time, n int, parted bool) {
	if parted {
		m.parted = now
	}
	switch d := now.Sub(m.at); {
	case n >= m.most || d >= 2*store.SharingFor:
		m.most, m.second, m.at = n, 0, now
	case d >= store.SharingFor:
		m.most, m.second, m.at = max(m.second, n), 0, now
	default:
		m.second = max(m.second, n)
	}
}

// among returns how many shared the bucket lately at once, if so many do now; zero if one has left, which
// nobody counts.
func (m *mostSharing) among(now monotime.Time, n int) int {
	if m.parted != 0 && now.Sub(m.parted) < store.SharingFor {
		return 0
	}
	return max(m.most, n)
}

// lost notes with each reply how many shared the bucket until it came, if it says that the store has lost the
// bucket. Who has not asked again in SharingFor counts no more.
func (m *mostSharing) lost(now monotime.Time, n int, lost bool) {
	switch {
	case lost:
		m.before, m.lostAt = n, now
	case now.Sub(m.lostAt) >= store.SharingFor:
		m.before, m.lostAt = 0, 0
	}
}
