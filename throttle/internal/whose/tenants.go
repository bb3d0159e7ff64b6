package whose

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Tenants tells a server that refuses everybody, since it refuses the address of the program, from one that
// refuses tenants, each for itself.
//
// In come refusals that no limit explains which the answer states (Refused), and that a request was served
// (Served).
// Everybody is refused if two tenants are told the same within a second: to wait until instants that are no
// more than a second apart, or nothing of when; and no request is served that was sent after one of these. One
// tenant alone never shows that, whatever it is told and however often. The zero Tenants have heard nothing.
type Tenants struct {
	latest, other refusal       // the latest refusal, and the latest of another tenant
	until         monotime.Time // until when everybody is held; zero if not
}

// refusal is one of a tenant.
type refusal struct {
	tenant any           // nil if there is none
	sent   monotime.Time // the request
	heard  monotime.Time // the answer
	said   monotime.Time // until when the server wants no requests; zero if it does not say
	until  monotime.Time // until when the tenant is held
}

// simultaneous is how far apart two refusals that are the same come at most, and the instants that they name:
// those have whole seconds.
const simultaneous = time.Second

// sameAs reports whether two tenants were told the same.
func (r *refusal) sameAs(o *refusal) bool {
	return r.tenant != o.tenant && o.tenant != nil && r.heard.Sub(o.heard) <= simultaneous && (r.said == 0) == (o.said == 0) && max(r.said, o.said).Sub(min(r.said, o.said)) <= simultaneous
}

// Refused takes in that a request of a tenant, sent at an instant, was refused, for how long the server wants
// no requests, if that is known, and until when the tenant is held. It returns until when everybody is held,
// for no longer than both tenants are; zero if not.
func (t *Tenants) Refused(now monotime.Time, tenant any, sent monotime.Time, asked time.Duration, known bool, until monotime.Time) monotime.Time {
	r := refusal{tenant: tenant, sent: sent, heard: now, until: until}
	if known {
		r.said = now.Add(min(max(asked, 0), monotime.Longest))
	}
	for _, o := range [...]refusal{t.latest, t.other} {
		if r.sameAs(&o) {
			t.until = max(t.until, min(r.until, o.until))
		}
	}
	if t.latest.tenant != r.tenant {
		t.other = t.latest
	}
	t.latest = r
	return t.until
}

// Since is when the first of the refused requests was sent: what is served of those that were sent later
// contradicts that everybody is refused. Zero if none was refused.
func (t *Tenants) Since() monotime.Time {
	if t.other.tenant != nil {
		return min(t.latest.sent, t.other.sent)
	}
	return t.latest.sent
}

// Served takes in that a request was served that was sent after Since. It returns until when everybody was
// held; zero if not.
func (t *Tenants) Served() (held monotime.Time) {
	held = t.until
	*t = Tenants{}
	return held
}
