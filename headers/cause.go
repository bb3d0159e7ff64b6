package headers

import "strconv"

// Cause is why a server refuses a request, where it says so itself. A caller needs it
// where the status does not tell, or where waiting for a moment is in vain. It is read
// from the headers Stripe-Rate-Limited-Reason and X-Amzn-ErrorType, from limits of a day
// and longer of which nothing remains, and by ParseBody from bodies.
//
// It may be said of a response that is no refusal, such as the last one that a quota
// granted. It is then why the next one would be.
type Cause int

// Causes, the graver last: if a response names several, the gravest is reported.
const (
	NoCause Cause = iota // it does not say
	TooFast              // a limit over time is used up
	Busy                 // the server, or what the request is about, is busy, whoever asks
	TooMany              // too many requests are under way at the same time

	// Spent means that a quota is used up which is granted by the day or longer, or for
	// money, and that nothing says that it will be restored within the hour.
	Spent
)

// String returns the name of the constant.
func (c Cause) String() string {
	if names := [...]string{"NoCause", "TooFast", "Busy", "TooMany", "Spent"}; c >= 0 && int(c) < len(names) {
		return names[c]
	}
	return "Cause(" + strconv.Itoa(int(c)) + ")"
}
