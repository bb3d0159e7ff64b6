package throttle

// spill is, for the models of token buckets, by definition what of a grant comes back: as
// much as would be there had it never been. It remembers how much room there was at each
// tick, right before something could be taken. All is in thousandths of a token.
type spill struct{ at, room []int }

func (s *spill) tick(now, room int) {
	s.at, s.room = append(s.at, now), append(s.room, room)
}

// back returns what of n comes back which went at a tick, where there is room now.
func (s *spill) back(went, n, room int) int {
	back := max(min(n, room), 0)
	for i, at := range s.at {
		if at > went {
			back = max(min(back, s.room[i]), 0)
		}
	}
	for i, at := range s.at {
		if at > went {
			s.room[i] -= back
		}
	}
	return back
}
