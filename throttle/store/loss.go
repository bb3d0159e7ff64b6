package store

// loss is how many members had the bucket when it was lost, and how many of these have told all.
type loss struct {
	had  int // as far as they know; tooMany if nobody knows
	told int
}

// tooMany is as how many members count of which nobody knows how many they are.
const tooMany = 1 << 30

// all reports whether all have told.
func (o *loss) all() bool { return 0 < o.had && o.had <= o.told }
