package route

import (
	"net/url"
	"strings"
	"testing"

	"github.com/gopacer/pacer/internal/visible"
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
		"https://api.example.com./x":        "api.example.com", // an absolute name
		"https://API.Example.com.:443/x":    "api.example.com",
		"https://api.example.com.:8443/x":   "api.example.com:8443",
		"https://api.example.com.:/x":       "api.example.com",
		"https://[0:0::1]:443/":             "[::1]",
		"http://[2001:DB8:0::1]:8080/":      "[2001:db8::1]:8080",
		"unix:///socket":                    "",
		"http:///path":                      "",
		"http://api.example.com:/":          "api.example.com", // RFC 3986 section 6.2.3
		"https://[::1]:":                    "[::1]",
		"http://[fe80::1%25eth0]:80/":       "[fe80::1%eth0]",
		"http://user:pass@[::1]:81/":        "[::1]:81",
		"http://É.example":                  "xn--9ca.example",
		"http://xn--9CA.example:080":        "xn--9ca.example",
		"http://api.example.com:080":        "api.example.com",
		"http://api.example.com:08080":      "api.example.com:8080",
		"https://api.example.com:4443":      "api.example.com:4443",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Host(u); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if got := Parse([]string{Tenants(u), Tenant("me")}); got != (Bucket{Host: want, Scope: OfTenant, Tenant: "me"}) {
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
		{Bucket{Host: "a.example", Scope: OfTenant, Tenant: "me"}, "a.example", "a.example for 2744ccd10c75", "a.example for " + digest},
		{Bucket{Host: "a.example", Scope: OfTenant}, "a.example", "a.example", "a.example"},
		{Bucket{Host: "a.example", Scope: Overall}, "a.example", "a.example overall", "a.example overall"},
		{Bucket{Host: "a.example", Pattern: "GET a.example/c/"}, "a.example", "GET a.example/c/", "GET a.example/c/"},
		{Bucket{Host: "a.example", Pattern: "/c/{id}", Values: "7"}, "a.example", "/c/7 at a.example", "/c/7 at a.example"},
		{Bucket{Host: "a.example", Pattern: "/{a}/{b...}", Values: "7\x008/9"}, "a.example", "/7/8/9 at a.example", "/7/8/9{...} at a.example"},
		// A host in a value is not the host of the bucket.
		{Bucket{Host: "h", Pattern: "/{id}", Values: "hh"}, "h", "/hh at h", "/hh at h"},
		{Bucket{Host: "hh", Pattern: "/{id}", Values: "hh"}, "hh", "/hh at hh", "/hh at hh"},
		{Bucket{Host: "h:81", Pattern: "GET h/{id}", Values: "7"}, "h", "GET h/7 at h:81", "GET h/7 at h:81"},
		{Bucket{Host: "[::1]", Pattern: "[::1]/{id}", Values: "7"}, "::1", "[::1]/7", "[::1]/7"},
		{
			Bucket{Host: "a.example", Pattern: "/c/{id}", Values: "7", Scope: OfTenant, Tenant: "me"},
			"a.example",
			"/c/7 at a.example for 2744ccd10c75", "/c/7 at a.example for " + digest,
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
		path := keysOf(test.Bucket)
		if got := Parse(path); got != test.Bucket {
			t.Errorf("%q is %+v, want %+v", path, got, test.Bucket)
		}
	}
}

// TestPublic: the public label tells neither tenants apart nor the values of wildcards.
func TestPublic(t *testing.T) {
	for want, b := range map[string]Bucket{
		"h:81":            {Host: "h:81", Scope: OfTenant, Tenant: "me"},
		"h overall":       {Host: "h", Scope: Overall},
		"/c/{id} at h":    {Host: "h", Pattern: "/c/{id}", Values: "7", Scope: OfTenant, Tenant: "me"},
		"GET h/c/{id}":    {Host: "h", Pattern: "GET h/c/{id}", Values: "7"},
		"GET h/c at h:81": {Host: "h:81", Pattern: "GET h/c"},
		"h%0A":            {Host: "h\n"},
	} {
		if got := b.Public(); got != want {
			t.Errorf("%+v: %q, want %q", b, got, want)
		}
	}
}

// What was chosen by others reaches no terminal: not from a path, not from a host, and nothing of a tenant.
func TestLabelIsVisible(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for _, test := range []struct {
		Bucket
		want string
	}{
		{Bucket{Host: "h", Pattern: "/c/{id}", Values: "a\nb\x1b[2J"}, "/c/a%0Ab%1B[2J at h"},
		{Bucket{Host: "h", Pattern: "/c/{id}", Values: "\u202eb\xff"}, "/c/%E2%80%AEb%FF at h"},
		{Bucket{Host: "h", Pattern: "/c/{id}", Values: "é%20日"}, "/c/é%20日 at h"},
		{Bucket{Host: "h\u202e\n", Tenant: "\n"}, "h%E2%80%AE%0A for 01ba4719c80b"},
		{Bucket{Host: "[fe80::1%eth0]:80"}, "[fe80::1%eth0]:80"},
		{Bucket{Host: "h", Pattern: "/c/{id}", Values: long}, "/c/" + long[:237] + "…" + visible.Digest("/c/"+long) + " at h"},
		{Bucket{Host: long, Tenant: long}, long[:240] + "…" + visible.Digest(long) + " for " + visible.Digest(long)},
	} {
		if got := test.Label(); got != test.want {
			t.Errorf("%.100q: %q, want %q", test.Values+test.Host, got, test.want)
		}
		if got := test.Shared(); visible.Text(got, 700) != got {
			t.Errorf("%.100q is shared as %q", test.Values+test.Host, got)
		}
	}
}

// Two tenants with one short digest have one label, and keys and shared labels of their own.
func TestTenantsOfOneLabel(t *testing.T) {
	a, b := Bucket{Host: "h", Scope: OfTenant, Tenant: "tenant-4497810"}, Bucket{Host: "h", Scope: OfTenant, Tenant: "tenant-11634438"} // of 40 million
	if a.Label() != b.Label() {
		t.Errorf("the labels are %q and %q", a.Label(), b.Label())
	}
	keysA, sharedA := names(a)
	keysB, sharedB := names(b)
	if keysA == keysB || sharedA == sharedB {
		t.Errorf("both have the keys %q, or are shared as %q", keysA, sharedA)
	}
}

// names are what a bucket is called: its keys, and the label by which processes share it.
func names(b Bucket) (keys [3]string, shared string) {
	copy(keys[:], keysOf(b))
	return keys, b.Shared()
}

func keysOf(b Bucket) (keys []string) {
	u := &url.URL{Scheme: "https", Host: b.Host}
	switch b.Scope {
	case All:
		keys = append(keys, Host(u))
	case Overall:
		keys = append(keys, Tenants(u))
	case OfTenant:
		keys = append(keys, Tenants(u), Tenant(b.Tenant))
	}
	if b.Pattern != "" {
		keys = append(keys, Pattern(b.Pattern, b.Values))
	}
	return keys
}

// Two different buckets have different keys and different shared labels.
func TestKeysDiffer(t *testing.T) {
	seen, shared := map[[3]string]Bucket{}, map[string]Bucket{}
	for _, host := range []string{"", "a.example", "b.example", "a.example:81", "[::1]", "[::1]:81", "\n", "%0A", strings.Repeat("x", 300), strings.Repeat("x", 301)} {
		for _, tenant := range []string{"", "me", "a.example", "\x00", "a\x00b", "\x00/{a}/\x007", " for me"} {
			for pattern, values := range map[string][]string{
				"":          {""},
				"/{a}/{b}":  {"7\x007", "\n\x007", "%0A\x007", "7\x008", "8\x007", "b.example\x00[::1]"},
				"/{a}/":     {"7", "8", "a.example"},
				"/{a...}":   {"", "7/7", "7/", "/"},
				"/{a}/%2F/": {"7"},
			} {
				for _, v := range values {
					for _, scope := range []Scope{All, Overall, OfTenant} {
						if scope != OfTenant && tenant != "" || scope == Overall && pattern != "" {
							continue
						}
						b := Bucket{host, scope, tenant, pattern, v}
						keys, label := names(b)
						if other, ok := seen[keys]; ok {
							t.Errorf("%+v and %+v have the keys %q", b, other, keys)
						}
						if other, ok := shared[label]; ok && (tenant != "" || b.Pattern != other.Pattern || other.Scope == Overall) { // no Transport has both without a tenant
							t.Errorf("%+v and %+v are shared as %q", b, other, label)
						}
						seen[keys], shared[label] = b, b
					}
				}
			}
		}
	}
}
