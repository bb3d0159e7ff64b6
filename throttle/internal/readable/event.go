package readable

import (
	"fmt"
	"time"

	"github.com/gopacer/pacer/internal/visible"
)

// StoreEvent returns in words what happened to the store of a bucket: a kind, and what belongs to it.
func StoreEvent(bucket, kind string, err error, down time.Duration, others fmt.Stringer) string {
	text := "throttle: " + bucket + ": "
	switch kind {
	case "down":
		text += "store not reached"
	case "back":
		text += fmt.Sprintf("store reached again after %v", Round(down))
	case "slow":
		text += "store is too slow"
	case "lost":
		text += "store does not know the bucket: it is new, or was lost"
	case "others":
		text += fmt.Sprintf("store has the bucket with other quotas, too: %q", visible.Text(others.String(), maxOthers))
	default:
		text += "store: " + kind
	}
	if err != nil {
		text += ": " + visible.Failure(err)
	}
	return text
}

// maxOthers is how many bytes are written of the quotas of others, which have as many and as long names as they
// like.
const maxOthers = 1000
