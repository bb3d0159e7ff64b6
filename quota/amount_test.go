package quota

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestParseAmount(t *testing.T) {
	wide(t)
	for text, want := range map[string]struct {
		n    int64
		unit string
	}{
		"5":                    {5, ""},
		"007":                  {7, ""},
		"9223372036854775807":  {math.MaxInt64, ""},
		"1B":                   {1, Bytes},
		"1.0B":                 {1, Bytes},
		"1kB":                  {1000, Bytes},
		"1KiB":                 {1024, Bytes},
		"1.5MB":                {1_500_000, Bytes},
		"0.5MiB":               {1 << 19, Bytes},
		"0.001kB":              {1, Bytes},
		"1.0009765625KiB":      {1025, Bytes},
		"2GB":                  {2e9, Bytes},
		"3GiB":                 {3 << 30, Bytes},
		"4TB":                  {4e12, Bytes},
		"8388607TiB":           {8388607 << 40, Bytes},
		"8388607.5TiB":         {8388607<<40 + 1<<39, Bytes},
		"9223372036854775807B": {math.MaxInt64, Bytes},
	} {
		n, unit, ok := parseAmount(text)
		if n != want.n || unit != want.unit || !ok {
			t.Errorf("%q: got %d of %q, %v, want %d of %q", text, n, unit, ok, want.n, want.unit)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "+1", "1.5", "1e3", "1_000", " 1", "0x10", "٣", "9223372036854775808",
		"B", "kB", ".5kB", "5.kB", ".kB", "1..5kB", "1.5.5MB", "0B", "0.0MB", "-1B", "+1B", "1/2kB", "1e3B", "0x1B", "1_0B",
		"0.5B", "1.0005kB", "0.1KiB", "5K", "5k", "5M", "5KB", "5kb", "5mB", "5Kib", "5MBB", "5BB", "5iB", "5 MB",
		"8388608TiB", "8388607.9999999999999TiB", "9223372036854775808B", "99999999999999999999MB",
	} {
		if n, unit, ok := parseAmount(text); ok {
			t.Errorf("%q was read as %d of %q", text, n, unit)
		}
	}
}

// TestAmount writes numbers of bytes and reads them again.
func TestAmount(t *testing.T) {
	wide(t)
	for want, big := range map[string]int64{
		"1B": 1, "999B": 999, "1kB": 1000, "1KiB": 1024, "1500B": 1500, "15kB": 15_000, "1000KiB": 1_024_000, "1536KiB": 3 << 19,
		"1MB": 1e6, "1MiB": 1 << 20, "1GB": 1e9, "1GiB": 1 << 30, "1TB": 1e12, "1TiB": 1 << 40, "2500GB": 25e11,
		"-5B": -5, "-2kB": -2000, // for the sake of errors
	} {
		n := int(big)
		if got := amount(int64(n), Bytes); got != want {
			t.Errorf("%d bytes are written %q, want %q", n, got, want)
		}
		for _, unit := range []string{"", Requests, "tokens"} {
			if got, want := amount(int64(n), unit), strconv.Itoa(n); got != want {
				t.Errorf("%d of unit %q are written %q, want %q", n, unit, got, want)
			}
		}
	}
	r := rand.New(rand.NewPCG(0, 7))
	for range 10_000 {
		n := 1 + r.IntN(1<<r.IntN(63))
		if r.IntN(2) == 0 {
			n -= n % 1000
			n = max(n, 1000)
		}
		if got, unit, ok := parseAmount(amount(int64(n), Bytes)); got != int64(n) || unit != Bytes || !ok {
			t.Fatalf("%d bytes are written %q, and that is read as %d of %q, %v", n, amount(int64(n), Bytes), got, unit, ok)
		}
	}
}

func TestIsUnit(t *testing.T) {
	for _, s := range []string{"tokens", "a", "A", "a-b_c.d9", "points", Requests, Bytes, "megabytes", "flights", "kBs", "queries", "Mbit", "tpm"} {
		if !isUnit(s) {
			t.Errorf("%q is no unit, want one", s)
		}
	}
	for _, s := range []string{
		"", "9a", "-a", "a b", "a/b", "a,b", "ä", "a\x00", "in", "unanswered", "request", "Requests", "REQUEST", "byte", "Bytes",
		"B", "b", "MB", "mb", "Kb", "KIB", "TiB", "req", "Reqs", "r", "rps", "RPM", "per", "in-flight", "concurrent", "reqests", "IN",
	} {
		if isUnit(s) {
			t.Errorf("%q is a unit, want none", s)
		}
	}
}

// wide skips tests of numbers for which an int must have 64 bits.
func wide(t *testing.T) {
	t.Helper()
	if strconv.IntSize < 64 {
		t.Skip("an int has 32 bits")
	}
}
