package filequota

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// fileName returns the name of the file of a bucket. It is short, is a name on every system, also where upper
// case is not told from lower case, and begins with what a person recognizes; the digest tells buckets apart.
func fileName(bucket string) string {
	const readable = 40
	sum := sha256.Sum256([]byte(bucket))
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '.', r == '-':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, bucket)
	return "q-" + clean[:min(len(clean), readable)] + "-" + hex.EncodeToString(sum[:16])
}
