package headers

import (
	"net/http"
	"testing"
)

func TestReads(t *testing.T) {
	own := &Reader{Dialects: []Dialect{{Remaining: "X-Acme-Left"}}, Ignore: []string{"Retry-After"}}
	for _, tt := range []struct {
		name  string
		h     http.Header
		r     *Reader
		tells bool
	}{
		{"nothing", nil, nil, false},
		{"few headers", fields(few...), nil, false},
		{"many headers", fields(many...), nil, false},
		{"of limits", fields(append([]string{"X-RateLimit-Remaining", "3"}, many...)...), nil, true},
		{"by rule", fields("Acme-RateLimit-Things-Remaining", "3"), nil, true},
		{"a hint", fields("Retry-After", "3"), nil, true},
		{"a header that is like one", fields("X-Rate-Limit-Request-Remote-Addr", "192.0.2.1"), nil, false},
		{"a dialect of one's own", fields("X-Acme-Left", "3"), own, true},
		{"and not without it", fields("X-Acme-Left", "3"), nil, false},
		{"ignored", fields("Retry-After", "3"), own, false},
		{"ignored beside another", fields("Retry-After", "3", "X-RateLimit-Remaining", "3"), own, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.r.Reads(tt.h); got != tt.tells {
				t.Errorf("Reads(%v) = %v, want %v", tt.h, got, tt.tells)
			}
		})
	}
}
