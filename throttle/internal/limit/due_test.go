package limit

import (
	"testing"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

func TestDueUntil(t *testing.T) {
	hold := Due{At: 10, Said: 50, Unreserved: 3, Cause: Hold}
	for _, test := range []struct {
		name     string
		d        Due
		at, said monotime.Time
		want     Due
		reported monotime.Time
	}{
		{"first", Due{Unreserved: 3}, 20, 20, Due{At: 20, Unreserved: 3, Cause: Pace, Quota: "q"}, 20},
		{"said", Due{}, 20, 60, Due{At: 20, Said: 60, Cause: Pace, Quota: "q"}, 60},
		{"before what was said", hold, 20, 20, Due{At: 20, Said: 50, Unreserved: 3, Cause: Hold}, 50},
		{"after what was said", hold, 60, 60, Due{At: 60, Unreserved: 3, Cause: Pace, Quota: "q"}, 60},
		{"said to be longer", hold, 20, 60, Due{At: 20, Said: 60, Unreserved: 3, Cause: Pace, Quota: "q"}, 60},
	} {
		got := test.d
		if got.Until(test.at, test.said, Pace, "q"); got != test.want || got.Reported() != test.reported {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}
