package spelling

import "testing"

func TestNear(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"token", "tokens", true},
		{"Tokens", "tokens", true},
		{"TOKEN", "tokens", true},
		{"toekns", "tokens", true},      // swapped
		{"otkens", "tokens", true},      // swapped
		{"tokns", "tokens", true},       // removed
		{"okens", "tokens", true},       // removed
		{"tokenns", "tokens", true},     // inserted
		{"tokems", "tokens", true},      // replaced
		{"tokem", "tokens", false},      // two letters
		{"tok\u0435ns", "tokens", true}, // a Cyrillic letter that looks like an e
		{"tok\u0435n", "tokens", false},
		{"einheit\u00e4n", "einheiten", true},
		{"query", "queries", true},
		{"class", "classes", true},
		{"gb", "gbs", true},
		{"input_tokens", "input-tokens", true},
		{" tokens", "tokens", true}, // blanks around it
		{"tokens\n", "tokens", true},
		{"\t Token ", "tokens", true},
		{"input tokens", "input-tokens", true},
		{" points", "tokens", false},
		{"inputTokens", "input-tokens", true},
		{"input-token", "input-tokens", true},
		{"imput-tokens", "input-tokens", true},
		{"imput-tokems", "input-tokens", false}, // two letters
		{"input-tokens", "output-tokens", false},
		{"input-tokens", "tokens", false},

		// Words that differ on purpose.
		{"tier1", "tier2", false},
		{"tokens", "tokens2", false},
		{"gpt-4", "gpt-4s", false},
		{"gpt-4", "gpt-4o", false},
		{"shard-a", "shard-b", false},
		{"gets", "sets", false},
		{"costs", "posts", false},
		{"cpu", "gpu", false},
		{"text", "test", false},
		{"a", "b", false},
		{"tokens", "points", false},
		{"tokens", "requests", false},
		{"", "a", false},
		{"", "s", false},
	} {
		if got := Near(test.a, test.b); got != test.want {
			t.Errorf("near(%q, %q) is %v, want %v", test.a, test.b, got, test.want)
		}
		if got := Near(test.b, test.a); got != test.want {
			t.Errorf("near(%q, %q) is %v, want %v", test.b, test.a, got, test.want)
		}
	}
}

func TestMeant(t *testing.T) {
	type quota struct {
		unit   string
		limits bool
	}
	qs := []quota{{"requests", true}, {"tokens", true}, {"gigs", false}, {"giggs", true}, {"tokenz", true}}
	for unit, want := range map[string]string{
		"tokens": "", "token": "tokens", "requests": "", "request": "requests", "points": "", "gigss": "giggs",
		"gigs": "", // what is no limit says so
	} {
		meant := Meant(unit, qs, func(q *quota) (string, bool) { return q.unit, q.limits })
		if meant == nil && want != "" || meant != nil && meant.unit != want {
			t.Errorf("%q was meant for %v, want %q", unit, meant, want)
		}
	}
}
