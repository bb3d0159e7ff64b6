package lease

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Learned is what the store was told of what this process has learned of the server. The zero Learned is
// nothing.
type Learned struct {
	told string
	at   monotime.Time // when it was looked at last whether there is news
}

// tellEvery is how often the store is told at most.
const tellEvery = 3 * time.Second

// Due reports whether to look now whether there is news. Told is to be called then.
func (l *Learned) Due(now monotime.Time) bool {
	due := l.at == 0 || now.Sub(l.at) >= tellEvery
	if due {
		l.at = now
	}
	return due
}

// Tell returns the text with which a call is to be made: what is known, unless the store was told so.
func (l *Learned) Tell(known string) string {
	if known == l.told {
		return ""
	}
	l.told = known
	return known
}

// Failed notes that a call failed: what it told may not have arrived.
func (l *Learned) Failed() { l.told = "" }
