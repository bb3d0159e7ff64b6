package route

import (
	"net/url"
	"testing"
)

func TestHost(t *testing.T) {
	for text, want := range map[string]string{
		"http://api.example.com":            "api.example.com",
		"http://API.Example.com:80/x":       "api.example.com",
		"https://api.example.com:443/x":     "api.example.com",
		"https://api.example.com:80/x":      "api.example.com:80",
		"http://api.example.com:443/x":      "api.example.com:443",
		"https://api.example.com:8443/x":    "api.example.com:8443",
		"http://[::1]:80/":                  "[::1]",
		"http://[FE80::1]:8080/":            "[fe80::1]:8080",
		"https://user:pass@api.example.com": "api.example.com",
		"unix:///socket":                    "",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Host(u, ""); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if got := Parse([]string{Host(u, "me")}); got != (Bucket{Host: want, Tenant: "me"}) {
			t.Errorf("%s of a tenant: %+v", text, got)
		}
	}
}

func TestBucket(t *testing.T) {
	const digest = "2744ccd10c7533bd736ad890f9dd5cab" // of "me": printf me | sha256sum
	for _, test := range []struct {
		Bucket
		hostname, label, shared string
	}{
		{Bucket{Host: "a.example"}, "a.example", "a.example", "a.example"},
		{Bucket{Host: "a.example:8080"}, "a.example", "a.example:8080", "a.example:8080"},
		{Bucket{Host: "[::1]:8080"}, "::1", "[::1]:8080", "[::1]:8080"},
		{Bucket{Host: "a.example", Tenant: "me"}, "a.example", "a.example for me", "a.example for " + digest},
		{Bucket{Host: "a.example", Pattern: "GET a.example/c/"}, "a.example", "GET a.example/c/", "GET a.example/c/"},
		{Bucket{Host: "a.example", Pattern: "/c/{id}", Values: "7"}, "a.example", "/c/7 at a.example", "/c/7 at a.example"},
		{Bucket{Host: "a.example", Pattern: "/{a}/{b...}", Values: "7\x008/9"}, "a.example", "/7/8/9 at a.example", "/7/8/9 at a.example"},
		{
			Bucket{Host: "a.example", Pattern: "/c/{id}", Values: "7", Tenant: "me"},
			"a.example",
			"/c/7 at a.example for me", "/c/7 at a.example for " + digest,
		},
	} {
		if got := test.Hostname(); got != test.hostname {
			t.Errorf("%+v: hostname %q, want %q", test.Bucket, got, test.hostname)
		}
		if got := test.Label(); got != test.label {
			t.Errorf("%+v: label %q, want %q", test.Bucket, got, test.label)
		}
		if got := test.Shared(); got != test.shared {
			t.Errorf("%+v: shared as %q, want %q", test.Bucket, got, test.shared)
		}
		path := []string{Host(&url.URL{Scheme: "https", Host: test.Host}, test.Tenant)}
		if test.Pattern != "" {
			path = append(path, Pattern(test.Pattern, test.Values))
		}
		if got := Parse(path); got != test.Bucket {
			t.Errorf("%q is %+v, want %+v", path, got, test.Bucket)
		}
	}
}

// TestKeysDiffer: what differs has different keys.
func TestKeysDiffer(t *testing.T) {
	seen := map[[2]string]Bucket{}
	for _, host := range []string{"a.example", "b.example", "a.example:81"} {
		for _, tenant := range []string{"", "me", "a.example"} {
			for _, pattern := range []string{"", "/{a}/{b}", "/{a}/"} {
				for _, values := range []string{"", "7", "7\x008", "8\x007"} {
					if pattern == "" && values != "" {
						continue
					}
					b := Bucket{host, tenant, pattern, values}
					key := [2]string{Host(&url.URL{Scheme: "http", Host: host}, tenant), Pattern(pattern, values)}
					if other, ok := seen[key]; ok {
						t.Errorf("%+v and %+v have the keys %q", b, other, key)
					}
					seen[key] = b
				}
			}
		}
	}
}
