// Package keys knows how the keys of a bucket begin, and which bucket a key is of.
package keys

import "strings"

// In keys, braces of a prefix are escaped, since what is in braces tells the node of a cluster; and colons of a
// name, so that prefix "a" and bucket "b:c" are not prefix "a:b" and bucket "c".
var (
	inPrefix = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")
	inName   = strings.NewReplacer("%", "%25", ":", "%3A")
	ofName   = strings.NewReplacer("%25", "%", "%3A", ":")
	asItIs   = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, `\`, `\\`)
)

const state = "}:state"

// Tag is what all keys of a bucket begin with.
func Tag(prefix, bucket string) string { return begin(prefix) + inName.Replace(bucket) + "}" }

func begin(prefix string) string { return "{" + inPrefix.Replace(prefix) + ":" }

// Pattern is what the key of the state of each bucket matches.
func Pattern(prefix string) string { return asItIs.Replace(begin(prefix)) + "*" + state }

// Bucket returns the bucket of which a key has the state. It is not ok if there is none under this prefix.
func Bucket(prefix, key string) (bucket string, ok bool) {
	name, begins := strings.CutPrefix(key, begin(prefix))
	name, ends := strings.CutSuffix(name, state)
	return ofName.Replace(name), begins && ends && !strings.Contains(name, ":")
}
