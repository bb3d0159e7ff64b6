// Package structured reads the structured fields (RFC 9651) of the IETF drafts on rate
// limits, draft-ietf-httpapi-ratelimit-headers: lists of named or numeric items with
// parameters, and the dictionary of draft 07.
//
// What comes in are the lines of a field; what goes out are members with the parameters that
// the drafts know, still without a meaning. Nearly all fields are scanned once, without an allocation; the
// general parser of httpsfv reads the others. The package knows neither which header it reads nor what a
// limit is.
package structured

import "github.com/gopacer/pacer/headers/internal/value"

// Member is a member of a list, with the parameters that the drafts know. A parameter that
// should be a number and is none has a negative N.
type Member struct {
	Name       string      // a string or a token
	Named      bool        // the member is a string or a token
	Number     value.Count // or a number
	Q, R, T, W value.Count // quota, remaining, time to the reset, window
	Qu         string      // the unit of the quota
	Label      string      // the parameter name of policies without a name of their own
	PK         string      // the partition key, in base64
}

// set sets a parameter. The last of several of one name counts (RFC 9651, 4.2.3.2).
func (m *Member) set(key string, number value.Count, text string) {
	switch key {
	case "q":
		m.Q = number
	case "r":
		m.R = number
	case "t":
		m.T = number
	case "w", "window":
		m.W = number
	case "qu":
		m.Qu = text
	case "name":
		m.Label = text
	case "pk":
		m.PK = text
	}
}

// Combined is what the dictionary of draft 07 says: "limit=100, remaining=50, reset=5".
type Combined struct {
	Limit, Remaining, Reset, Window value.Count
}

// set sets a key. The last of several of one name counts (RFC 9651, 4.2.2), and others than
// these four say nothing. The draft itself has three.
func (c *Combined) set(key string, n value.Count) {
	switch key {
	case "limit":
		c.Limit = n
	case "remaining":
		c.Remaining = n
	case "reset":
		c.Reset = n
	case "window":
		c.Window = n
	}
}
