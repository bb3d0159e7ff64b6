// Package route names the buckets that a request draws on: that of its host, and that of the most
// specific pattern which it matches there.
//
// In come a URL, a tenant, and a match of package pattern; out come the keys under which a
// throttle.Group has the buckets, and what people and Stores call them. The package knows nothing
// of what is kept in a bucket.
package route

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gopacer/pacer/internal/pattern"
)

// separator is between the parts of a key. No host and no pattern has it.
const separator = "\x00"

// Host returns the key of the bucket of a host: of host and port in lower case, without the port
// that the scheme implies, and of a tenant, which may be empty.
func Host(u *url.URL, tenant string) string {
	host := authority(u)
	if tenant != "" {
		host += separator + tenant
	}
	return host
}

// Pattern returns the key of the bucket of a pattern and of the values of its wildcards, below the bucket
// of the host.
func Pattern(pattern, values string) string {
	if values != "" {
		pattern += separator + values
	}
	return pattern
}

// Bucket is what the keys of a bucket say.
type Bucket struct {
	Host    string // as URLs have it, in lower case
	Tenant  string
	Pattern string // empty for the bucket of the host
	Values  string // of the wildcards, as pattern.Set.Match has them
}

// Parse returns what is said by the key of a host, and that of a pattern if there is one.
func Parse(path []string) (b Bucket) {
	b.Host, b.Tenant, _ = strings.Cut(path[0], separator)
	if len(path) > 1 {
		b.Pattern, b.Values, _ = strings.Cut(path[1], separator)
	}
	return b
}

// Hostname is the host without its port.
func (b Bucket) Hostname() string { return pattern.Hostname(&url.URL{Host: b.Host}) }

// Label is what errors and hooks call the bucket: the host, or the pattern with the values of its
// wildcards.
func (b Bucket) Label() string {
	label := b.Host
	if b.Pattern != "" {
		label = pattern.Fill(b.Pattern, b.Values)
		if _, host, _ := pattern.Split(b.Pattern); host != b.Host {
			label += " at " + b.Host
		}
	}
	if b.Tenant != "" {
		label += " for " + b.Tenant
	}
	return label
}

// Shared is the label by which processes share the bucket. It has a digest of the tenant, which may be
// a credential.
func (b Bucket) Shared() string {
	if b.Tenant != "" {
		sum := sha256.Sum256([]byte(b.Tenant))
		b.Tenant = hex.EncodeToString(sum[:16])
	}
	if strings.HasSuffix(b.Pattern, "...}") {
		b.Values += "{...}" // no other pattern filled in has this: "/{x...}" for "/a%2Fb" differs from "/{a}/{b}" for "/a/b"
	}
	return b.Label()
}

// authority returns the host and port of u in lower case, without the port that its scheme implies.
func authority(u *url.URL) string {
	host := u.Host
	for i := range len(host) {
		if c := host[i]; 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			host = strings.ToLower(host)
			break
		}
	}
	host = strings.TrimSuffix(host, ":") // a port may be empty: RFC 3986 section 3.2.3
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return host
}
