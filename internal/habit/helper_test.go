package habit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/headers"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// fields returns headers from pairs of a name and a value.
func fields(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// usual are headers of a response that came through a proxy or two.
var usual = []string{
	"Server", "cloudflare", "Cache-Control", "no-store", "Vary", "Accept-Encoding", "Strict-Transport-Security", "max-age=31536000",
	"X-Content-Type-Options", "nosniff", "Referrer-Policy", "no-referrer", "Etag", `W/"abc"`, "X-Request-Id", "7b1c",
	"Cf-Ray", "8a1f", "X-Vendor-Version", "2026-01-01", "X-Vendor-Region", "eu",
	"Content-Type", "application/json", "Content-Length", "12", "Date", "Mon, 02 Mar 2026 12:00:00 GMT",
}

// vector is an answer of the vectors of package headers.
type vector struct {
	ID         string
	Headers    map[string][]string
	ReceivedAt time.Time `json:"received_at"`
}

func header(fields map[string][]string) http.Header {
	h := http.Header{}
	for name, values := range fields {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	return h
}

func load(tb testing.TB, name string, to any) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("../../headers/testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		tb.Fatal(err)
	}
}

// summary is what an answer says, as text.
func summary(f headers.Facts) string {
	var parts []string
	num := func(c headers.Count) string {
		if !c.Known {
			return "?"
		}
		return fmt.Sprint(c.N)
	}
	for _, l := range f.Limits {
		s := fmt.Sprintf("%q %s/%s", l.Name, num(l.Remaining), num(l.Limit))
		if l.Unit != "" {
			s += " " + l.Unit
		}
		if l.Reset.Known {
			s += fmt.Sprintf(" in %v", l.Reset.In)
		}
		if l.Window > 0 {
			s += fmt.Sprintf(" per %v", l.Window)
		}
		parts = append(parts, s)
	}
	if len(parts) > 4 {
		parts = append(parts[:2], fmt.Sprintf("%d more", len(parts)-2))
	}
	if f.Retry.Known {
		parts = append(parts, fmt.Sprintf("retry %v", f.Retry.After))
	}
	if f.Retry.Advice == headers.AdviceNever {
		parts = append(parts, "never")
	}
	if f.Retry.Refusal != "" {
		parts = append(parts, string(f.Retry.Refusal))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
