package headers

import "strconv"

// Refusal is why a server refuses a request, where the server says so itself. A caller needs
// it where the status does not tell, or where waiting for a moment is in vain. It is read
// from the headers Stripe-Rate-Limited-Reason and X-Amzn-ErrorType, from limits of a day and
// longer of which nothing remains, and by [Reader.ParseBody] from bodies. It is never
// concluded from a status, nor from prose.
//
// A response that is no refusal may have one too, such as the last response that a quota
// granted. It is then why the next request would be refused.
type Refusal int

// Refusals, the graver last: if a response names several, the gravest is reported.
const (
	RefusalUnknown Refusal = iota // the server does not say
	RefusalTooFast                // a limit over time is used up
	RefusalBusy                   // the server, or what the request is about, is busy, whoever asks
	RefusalTooMany                // too many requests are under way at the same time

	// RefusalSpent means that a quota is used up which is granted by the day or longer, or
	// for money, and that nothing says that it will be restored within the hour.
	RefusalSpent
)

// String returns the name of the constant without the word Refusal.
func (r Refusal) String() string {
	if names := [...]string{"Unknown", "TooFast", "Busy", "TooMany", "Spent"}; r >= 0 && int(r) < len(names) {
		return names[r]
	}
	return "Refusal(" + strconv.Itoa(int(r)) + ")"
}
