package adaptive

// apart says that the Server is of one of several counters to which the server gives one name: package counter
// has told them apart. What is stated of the one says nothing of the others, but for how resets are stated.
type apart struct {
	whole ID // the Server that heard of all of them; zero if there is only one
	name  string

	before reset   // what whole knew last of the reset; of whole itself, too, which forgets its windows
	unit   millis  // and of the unit of resets
	others float64 // what others use of all counters together for each token of ours
}

// isPlain reports whether a limit is of requests, and of those to which the server gives no Counter of their
// own.
func (n *limitName) isPlain() bool { return n.counter == "" && n.unit == "" }

// contradictions is whether answers about a window contradict each other so often that package counter is to
// look closer. Once is not enough: then the limit has changed, or the server was restarted.
type contradictions struct {
	latest sequence // the answer that contradicted one before
	enough bool
}

// contradictionsWithin is how many grants and answers may lie between two of them.
const contradictionsWithin = 1024

// note takes in an answer that contradicts one before.
func (c *contradictions) note(answer sequence) {
	c.enough = c.enough || c.latest != 0 && answer-c.latest <= contradictionsWithin
	c.latest = answer
}

// Contradicted returns the name of a limit of which answers contradict each other, and whether there is one.
func (s *Server) Contradicted() (name string, any bool) {
	for _, w := range s.windows {
		if w.contradictions.enough && w.isPlain() {
			return w.name, true
		}
	}
	return "", false
}

// Reconcile forgets that answers contradicted each other. It returns whether they still do: they do not.
func (s *Server) Reconcile() (contradicted bool) {
	s.contradicted = false
	for _, w := range s.windows {
		w.contradictions = contradictions{}
	}
	return s.contradicted
}

// has reports whether it is this limit of which there are several counters.
func (a *apart) has(of limitName) bool { return a.whole != 0 && of.name == a.name && of.isPlain() }

// isOf reports whether both are of counters that one Server took for one.
func (a *apart) isOf(b *apart) bool { return a.whole == b.whole && a.name == b.name }
