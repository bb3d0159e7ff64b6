package hosts

import (
	"fmt"
	"net/url"
	"testing"
)

func TestHosts(t *testing.T) {
	var hs Hosts[int]
	at := func(scheme, host string) *url.URL { return &url.URL{Scheme: scheme, Host: host} }
	if _, ok := hs.Of(at("https", "a")); ok {
		t.Error("remembers what it was not told")
	}
	for i := range 100 {
		hs.Note(at("https", fmt.Sprint("host", i)), i)
	}
	remembered := 0
	for range 2 {
		for i := range 100 {
			v, ok := hs.Of(at("https", fmt.Sprint("host", i)))
			if ok && v != i {
				t.Fatalf("host%d has %d", i, v)
			}
			if ok {
				remembered++
			}
		}
	}
	if remembered < 100 {
		t.Errorf("%d of 100 hosts are remembered, want most", remembered/2)
	}
	if _, ok := hs.Of(at("http", "host99")); ok {
		t.Error("another scheme is taken for the same")
	}
	hs.Note(at("https", "host99"), -1)
	if v, ok := hs.Of(at("https", "host99")); !ok || v != -1 {
		t.Errorf("after it was told again: %d, %v", v, ok)
	}
	u := at("https", "host1")
	if n := testing.AllocsPerRun(100, func() { hs.Of(u) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
