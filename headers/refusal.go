package headers

import "github.com/gopacer/pacer/headers/internal/refusal"

// Refusal is why a server refuses a request, where the server says so itself. A caller needs
// it where the status does not tell, or where waiting for a moment is in vain. It is read
// from the headers Stripe-Rate-Limited-Reason and X-Amzn-ErrorType, from limits of a day and
// longer of which nothing remains, and by [Reader.ParseBody] from bodies. It is never
// concluded from a status, nor from prose.
//
// A response that is no refusal may have one too, such as the last response that a quota
// granted. It is then why the next request would be refused.
//
// Zero, the empty text, means that the server does not say.
type Refusal string

// Refusals, the graver last: if a response names several, the gravest is reported.
const (
	RefusalTooFast Refusal = "too_fast" // a limit over time is used up
	RefusalBusy    Refusal = "busy"     // the server, or what the request is about, is busy, whoever asks
	RefusalTooMany Refusal = "too_many" // too many requests are under way at the same time

	// RefusalSpent means that a quota is used up which is granted by the day or longer, or
	// for money, and that nothing says that it will be restored within the hour.
	RefusalSpent Refusal = "spent"
)

// refusals are the Refusals by those of package refusal.
var refusals = [...]Refusal{
	refusal.Unknown: "", refusal.TooFast: RefusalTooFast, refusal.Busy: RefusalBusy, refusal.TooMany: RefusalTooMany, refusal.Spent: RefusalSpent,
}
