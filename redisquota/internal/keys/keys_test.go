package keys

import (
	"path"
	"testing"
)

func TestBucket(t *testing.T) {
	for _, name := range []string{"api.test", "a:b", "%3A", "x}y", "", "[*]", "api.test for 00ff"} {
		for _, prefix := range []string{"pacer", "a:b", "{x}", "*", `\[`} {
			key := Tag(prefix, name) + ":state"
			if got, ok := Bucket(prefix, key); got != name || !ok {
				t.Errorf("%q: got %q, %v, want %q", key, got, ok, name)
			}
			if ok, err := path.Match(Pattern(prefix), key); !ok || err != nil {
				t.Errorf("%q does not match %q: %v", key, Pattern(prefix), err)
			}
			if got, ok := Bucket("other", key); ok {
				t.Errorf("%q is %q of another prefix", key, got)
			}
			if got, ok := Bucket(prefix, Tag(prefix, name)+":members"); ok {
				t.Errorf("the members of %q are the state of %q", name, got)
			}
		}
	}
	if got, ok := Bucket("a", Tag("a:b", "c")+":state"); ok {
		t.Errorf(`bucket "c" of prefix "a:b" is %q of prefix "a"`, got)
	}
}
