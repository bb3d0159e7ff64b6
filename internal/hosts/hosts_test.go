package hosts

import (
	"fmt"
	"net/url"
	"testing"
)

func TestHosts(t *testing.T) {
	var hs Hosts[int]
	var numbers [100]int
	at := func(scheme, host string) *url.URL { return &url.URL{Scheme: scheme, Host: host} }
	if hs.Of(at("https", "a")) != nil {
		t.Error("remembers what it was not told")
	}
	for i := range 100 {
		hs.Note(at("https", fmt.Sprint("host", i)), &numbers[i])
	}
	remembered := 0
	for range 2 {
		for i := range 100 {
			switch hs.Of(at("https", fmt.Sprint("host", i))) {
			case nil:
			case &numbers[i]:
				remembered++
			default:
				t.Fatalf("host%d has what belongs to another", i)
			}
		}
	}
	if remembered < 100 {
		t.Errorf("%d of 100 hosts are remembered, want most", remembered/2)
	}
	if hs.Of(at("http", "host99")) != nil {
		t.Error("another scheme is taken for the same")
	}
	hs.Note(at("https", "host99"), &numbers[0])
	if hs.Of(at("https", "host99")) != &numbers[0] {
		t.Error("what it was told again is not what it remembers")
	}
	hs.Note(at("http", "host99"), &numbers[1])
	for range 2 {
		if hs.Of(at("https", "host99")) != &numbers[0] || hs.Of(at("http", "host99")) != &numbers[1] {
			t.Error("two schemes of one host make it forget each other")
		}
	}
	for _, scheme := range []string{"", "HTTP", "ftp", "httpx"} { // as long as one of the others, or like it
		if hs.Note(at(scheme, "host99"), &numbers[2]); hs.Of(at(scheme, "host99")) != nil {
			t.Errorf("scheme %q is remembered, or taken for another", scheme)
		}
	}
	u := at("https", "host1")
	if n := testing.AllocsPerRun(100, func() { hs.Of(u) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
