// Package route names the buckets that a request draws on: the bucket of its host, that of its tenant there, if
// requests have any, and the bucket of the most specific pattern that the request matches there.
//
// In come a URL, a tenant, and a match of package pattern. Out come the keys under which a throttle.Group
// has the buckets, the labels by which people call them, and the labels by which processes share them in a
// Store. Different buckets have different keys and different shared labels. Labels are fit to be printed, and
// hold no tenant. The package does not know what
// a bucket keeps.
package route

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/gopacer/pacer/internal/pattern"
	"github.com/gopacer/pacer/internal/visible"
)

// separator stands between the parts of a key. No host and no pattern contains it: url.Parse and
// pattern.Check refuse a zero byte.
const separator = "\x00"

// Host returns the key of the bucket of a host whose requests have no tenants. The key has the host and port as
// of pattern.ASCII, without the port that the scheme implies and the dot behind a name.
func Host(u *url.URL) string { return authority(u) }

// Tenants returns the key of the bucket of a host whose requests have tenants, of which one may be the empty
// one.
func Tenants(u *url.URL) string { return authority(u) + separator }

// Tenant returns the key of the bucket of a tenant, below that of Tenants. No pattern is like it.
func Tenant(tenant string) string { return separator + tenant }

// authority returns the host and port of u as of pattern.ASCII, without the port that the scheme implies. The
// host is that of pattern.Hostname, so that "api.example.com." has no bucket beside that of "api.example.com".
func authority(u *url.URL) string {
	if pattern.IsPlain(u.Host) {
		return u.Host
	}
	host, port := pattern.ASCII(u.Host), ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], strings.TrimLeft(host[i+1:], "0") // may be empty (RFC 3986 section 3.2.3); "0443" is 443, as of net.Dial
	}
	if strings.HasPrefix(host, "[") {
		host = "[" + pattern.Hostname(u) + "]"
	}
	host = strings.TrimSuffix(host, ".")
	if port == "" || port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		return host
	}
	return host + ":" + port
}

// Pattern returns the key of a bucket below the bucket of the host, or of the tenant: the pattern, and the
// values of its wildcards, as pattern.Match has them.
func Pattern(pattern, values string) string {
	if values != "" {
		pattern += separator + values
	}
	return pattern
}

// Bucket is what the keys of a bucket say.
type Bucket struct {
	Host    string // with the port, unless the scheme implies it; in lower case
	Scope   Scope
	Tenant  string
	Pattern string // empty for the bucket of the host, or of the tenant
	Values  string // of the wildcards, as pattern.Match has them
}

// Scope is whose requests draw on a bucket.
type Scope int

// The scopes.
const (
	All      Scope = iota // those of a host whose requests have no tenants
	Overall               // those of all tenants of a host
	OfTenant              // those of one tenant
)

// Parse takes apart the keys of a bucket: path has the key of the host; that of the tenant, if it is below
// Tenants; and the key of the pattern unless the bucket is that of the host, or of the tenant.
func Parse(path []string) (b Bucket) {
	var tenants bool
	b.Host, tenants = strings.CutSuffix(path[0], separator)
	path = path[1:]
	if tenants {
		b.Scope = Overall
	}
	if tenants && len(path) > 0 {
		b.Scope, b.Tenant, path = OfTenant, strings.TrimPrefix(path[0], separator), path[1:]
	}
	if len(path) > 0 {
		b.Pattern, b.Values, _ = strings.Cut(path[0], separator)
	}
	return b
}

// Hostname returns the host in the form in which patterns have it: without a port or brackets.
func (b Bucket) Hostname() string { return pattern.Hostname(&url.URL{Host: b.Host}) }

// Label returns what errors and hooks call the bucket: the host, or the pattern with the values of its
// wildcards filled in, and at which host unless the pattern says so. It says "overall" of all tenants, and has
// a short digest in place of one tenant, which may be a credential. What cannot be seen is written as in a URL,
// and what is long is cut. So two buckets may have one label, but not the keys of each other.
func (b Bucket) Label() string {
	return b.label(visible.Digest, func(s string) string { return visible.Text(s, maxPart) })
}

// Public returns the label without what tells the requests of a pattern or a host apart: without the values of
// wildcards, and without the tenant. It shows no part of a URL but the host.
func (b Bucket) Public() string {
	host := visible.Text(b.Host, maxPart)
	switch {
	case b.Scope == Overall:
		return host + " overall"
	case b.Pattern == "":
		return host
	}
	label := visible.Text(b.Pattern, maxPart)
	if _, of, _ := pattern.Split(b.Pattern); of != b.Host {
		label += " at " + host
	}
	return label
}

// maxPart is how many bytes of a label are of the host, and how many of the pattern. A name of DNS has 253 at
// most (RFC 1035 section 2.3.4).
const maxPart = 255

// label returns the label that has some text for the tenant, and some text for each other part.
func (b Bucket) label(tenant, part func(string) string) string {
	label := part(b.Host)
	if b.Pattern != "" {
		label = part(pattern.Fill(b.Pattern, b.Values))
		if _, host, _ := pattern.Split(b.Pattern); host != b.Host {
			label += " at " + part(b.Host)
		}
	}
	switch {
	case b.Scope == Overall:
		label += " overall"
	case b.Tenant != "":
		label += " for " + tenant(b.Tenant)
	}
	return label
}

// Shared returns the label by which processes share the bucket in a Store. Different buckets have different
// ones: it is as Label, but with a long digest in place of the tenant, with "{...}" after the value of a
// wildcard "{x...}", and, if something in it is long or cannot be seen, with a long digest of all at its end.
func (b Bucket) Shared() string {
	if strings.HasSuffix(b.Pattern, "...}") {
		b.Values += "{...}" // without this, "/{x...}" for "/a%2Fb" would have the label of "/{a}/{b}" for "/a/b"
	}
	whole := b.label(digest, func(s string) string { return s })
	label := b.label(digest, func(s string) string { return visible.Text(s, maxPart) })
	if label != whole {
		label += "{" + digest(whole) + "}" // no value has a brace, and no pattern such a wildcard
	}
	return label
}

// digest returns 128 bits of SHA-256.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}
