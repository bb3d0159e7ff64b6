package throttle

import "github.com/gopacer/pacer/internal/inside"

// Inside is for package pacer alone, since nobody else can make a Key. What it returns is no promise, and may
// change at any time.
func Inside(inside.Key) inner { return inner{} } //nolint:revive // nobody is to see its methods

// inner has what package pacer needs beside what others may use: to go on at a glance, to keep a Grant on the
// stack, and to move between buckets. Its methods are with what they are about.
type inner struct{}
