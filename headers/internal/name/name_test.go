package name

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gopacer/pacer/headers/internal/value"
)

// TestLookup reads names by rule and by heart. What only serves to order headers is left out.
func TestLookup(t *testing.T) {
	for _, tt := range []struct {
		key  string
		want *Meaning
	}{
		{"X-RateLimit-Remaining", &Meaning{Role: Remaining, Family: "x-ratelimit", Quick: true}},
		{"x-ratelimit-remaining", &Meaning{Role: Remaining, Family: "x-ratelimit", Quick: true}},
		{"RateLimit", &Meaning{Role: State, Family: "ratelimit"}},
		{"RateLimit-Policy", &Meaning{Role: Policy, Family: "ratelimit"}},
		{"X-RateLimit-Resource", &Meaning{Role: Label, Family: "x-ratelimit", Quick: true}},
		{"X-RateLimit-Reset-After", &Meaning{Role: Reset, Form: Seconds, Family: "x-ratelimit", Quick: true}},
		{"Retry-After", &Meaning{Role: Retry}},
		{"Age", &Meaning{Role: Age}},

		{"Acme-RateLimit-Reset-Ms", &Meaning{Role: Reset, Step: time.Millisecond, Family: "acme-ratelimit"}},
		{"Acme-RateLimit-Output-Tokens-Limit", &Meaning{Role: Limit, Family: "acme-ratelimit", Group: "output-tokens", Name: "output-tokens", Unit: "tokens"}},
		{"X-Daily-RateLimit-Token-Limit", &Meaning{Role: Limit, Family: "x-daily-ratelimit", Group: "daily-token", Name: "daily-token", Unit: "tokens", Window: 24 * time.Hour}},
		{"X-RateLimit-Remaining-Seconds", &Meaning{Role: Reset, Form: Seconds, Family: "x-ratelimit", Doubtful: true}},
		{"X-RateLimit-Remaining-Month", &Meaning{Role: Remaining, Family: "x-ratelimit", Group: "month", Name: "month", Long: true}},
		{"X-RateLimit-Limit-Videos-Minute", &Meaning{Role: Limit, Family: "x-ratelimit", Group: "videos-minute", Name: "videos-minute", Unit: "videos", Window: time.Minute}},
		{"X-RateLimit-Limit-User-Minute", &Meaning{Role: Limit, Family: "x-ratelimit", Group: "user-minute", Name: "user-minute", Window: time.Minute}},
		{"X-Vendor-RateLimit-Daily", &Meaning{Role: Limit, Form: Keys, Family: "x-vendor-ratelimit", Group: "daily", Name: "daily", Window: 24 * time.Hour}},
		{"X-Vendor-RateLimit-Search", &Meaning{Role: Text, Form: Keys, Family: "x-vendor-ratelimit", Group: "search", Name: "search"}},
		{"Beta-RateLimit-Limit", &Meaning{Role: Limit, Family: "beta-ratelimit", Advisory: true}},
		{"X-Search-Remaining", &Meaning{Role: Remaining, Family: "search", Group: "search", Name: "search", Weak: true}},
		{"X-Quota-Remaining", &Meaning{Role: Remaining, Family: "quota", Group: "quota", Name: "quota", Weak: true}},
		{"Acme-Retry-After-Ms", &Meaning{Role: Retry, Step: time.Millisecond}},

		{"Content-Type", &Meaning{Role: Ignored}},
		{"X-Limit", nil},
		{"X-Disk-Quota-Limit-Bytes", nil},
		{"X-Password-Reset-Token", nil},
		{"X-RateLimit-Remaining-Minutes", nil},
		{"Beta-Retry-After", nil},
		{"X-Retry-Count", nil},
		{"X-RateLimit-\u00e9", nil},
		{"X-Vendor-Region", nil},
		{"", nil},
	} {
		got := Lookup(tt.key)
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Meaning{}), cmpopts.IgnoreFields(Meaning{}, "Set", "Source")); diff != "" {
			t.Errorf("Lookup(%q) (-want +got):\n%s", tt.key, diff)
		}
	}
}

// TestCompare checks that the known headers are in an order, and that the numbers of the
// table are those of compare.
func TestCompare(t *testing.T) {
	var all []*Meaning
	for _, s := range known.slots {
		if s.meaning != nil && s.meaning.Role != Ignored {
			all = append(all, s.meaning)
		}
	}
	for _, a := range all {
		for _, b := range all {
			if c := compare(a, b); min(max(Compare(a, b), -1), 1) != c || compare(b, a) != -c {
				t.Fatalf("Compare(%+v, %+v) = %d, want %d", a, b, Compare(a, b), c)
			}
			if same := a.Family == b.Family && a.Group == b.Group; a.Family != "" && SameGroup(a, b) != same {
				t.Fatalf("SameGroup(%+v, %+v) = %v, want %v", a, b, !same, same)
			}
		}
	}
	first, last := Lookup("RateLimit-Limit"), Lookup("X-Search-Limit")
	for _, key := range []string{"Acme-RateLimit-Limit", "X-RateLimit-Limit", "X-Rate-Limit-Limit"} {
		if m := Lookup(key); Compare(first, m) >= 0 || Compare(m, last) >= 0 {
			t.Errorf("%s does not come between RateLimit-Limit and X-Search-Limit", key)
		}
	}
}

// TestDialects checks that each dialect makes sense, has a source, and no header that another
// one has.
func TestDialects(t *testing.T) {
	seen := map[string]string{}
	for i := range dialects {
		d := &dialects[i]
		if d.Source == "" || d.Family == "" {
			t.Errorf("%+v lacks a source or a family", d)
		}
		for _, p := range d.Parts() {
			if err := CheckKey(p.Name); err != nil {
				t.Errorf("%s: %s: %v", d.Source, p.Field, err)
			}
			if before := seen[p.Name]; before != "" {
				t.Errorf("%s is of %s and of %s", p.Name, before, d.Source)
			}
			seen[p.Name] = d.Source
			if m := Lookup(p.Name); m == nil || m.Role != p.Role || m.Family != d.Family {
				t.Errorf("Lookup(%q) = %+v, want what the dialect of %s says", p.Name, m, d.Source)
			}
		}
	}
}

// TestDialectsHaveCases: each header of a dialect is in some answer with which the package above is tested. A
// new one has its case in headers.json there.
func TestDialectsHaveCases(t *testing.T) {
	var cases strings.Builder
	for _, pattern := range []string{"../../testdata/*.json", "../../*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cases.WriteString(strings.ToLower(string(text)))
		}
	}
	all := cases.String()
	for i := range dialects {
		for _, p := range dialects[i].Parts() {
			if !strings.Contains(all, `"`+strings.ToLower(p.Name)+`"`) {
				t.Errorf("%s of %s has no case: add one to headers/testdata/headers.json", p.Name, dialects[i].Source)
			}
		}
	}
}

// FuzzClassify checks that names are read whatever they are, in upper case as in lower case, and that what is
// read of them may be printed.
func FuzzClassify(f *testing.F) {
	for _, key := range []string{
		"X-RateLimit-Rapid-Free-Plans-Hard-Limit-Remaining", "http_x_ratelimit_account_success_limit", "X-RateLimit-Limit-Req-10-Second",
		"X-Ms-RateLimit-Time-Remaining-Xrm-Requests", "X-Keap-Product-Quota-Expiry-Time", "Current-Concurrent-Requests",
		"X-Dnsme-RequestsRemaining", "X-RateLimit-AppDay-Remaining", "X-AI-1-RateLimit-Limit", "X-RateLimit-HighCostGet3Min", "limit-limit-limit",
		"reset-in-ms", "x-rate-limit", "rate-limit", "x", "-", "--limit--", "beta-beta-ratelimit", "X-Codex-Primary-Used-Percent",
	} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		m, ok := Classify(key)
		lower, again := Classify(strings.ToLower(key))
		isASCII := strings.IndexFunc(key, func(r rune) bool { return r > '~' }) < 0
		if isASCII && (ok != again || !reflect.DeepEqual(m, lower)) {
			t.Errorf("Classify(%q) = %+v, %v; in lower case %+v, %v", key, m, ok, lower, again)
		}
		if !ok && !reflect.DeepEqual(m, Meaning{}) {
			t.Errorf("Classify(%q) = %+v, which is nothing", key, m)
		}
		for _, s := range []string{m.Name, m.Group, m.Family, m.Unit} {
			if s != "" && value.CleanName(s) == "" || len(m.Name) > value.MaxName || m.Window < 0 || m.Window > value.MaxWindow {
				t.Errorf("Classify(%q) = %+v", key, m)
			}
		}
		Key(key)
	})
}

// TestClassifyAllocs checks that a name that is not about limits costs no allocation, and one that is the few
// that its texts need.
func TestClassifyAllocs(t *testing.T) {
	for key, most := range map[string]float64{
		"X-Vendor-Delimiter": 0, "X-Page-Time-Limit-Seconds": 0, "X-Retry-Count": 0,
		"X-RateLimit-Limit-Anything": 2, "X-Vendor-RateLimit-Things-Remaining": 2,
	} {
		if n := testing.AllocsPerRun(100, func() { Classify(key) }); n > most {
			t.Errorf("Classify(%q) makes %v allocations, want %v at most", key, n, most)
		}
	}
}
