package quota

import (
	"strings"
	"testing"
)

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
		if got := near(test.a, test.b); got != test.want {
			t.Errorf("near(%q, %q) is %v, want %v", test.a, test.b, got, test.want)
		}
		if got := near(test.b, test.a); got != test.want {
			t.Errorf("near(%q, %q) is %v, want %v", test.b, test.a, got, test.want)
		}
	}
}

func TestMisspelled(t *testing.T) {
	qs := Quotas{{N: 5, Burst: 10}, {N: 100, Unit: "tokens"}, {Unit: "gigs"}, {N: 1, Unit: "giggs"}}
	for _, test := range []struct{ unit, want string }{
		{"tokens", ""},
		{"token", "tokens"},
		{"requests", ""},
		{"", ""},
		{"request", ""}, // that is, the Unit of the first
		{"points", ""},
		{"gigs", ""}, // a Quota without an N says so
		{"gigss", "giggs"},
	} {
		meant, ok := qs.Misspelled(test.unit)
		if ok != (test.want != "" || test.unit == "request") || meant.Unit != test.want {
			t.Errorf("%q was meant for %v (%v), want %q", test.unit, meant, ok, test.want)
		}
	}
}

// Costs name one unit: of two spellings, half of what is counted would draw on one quota, and half on the other.
func TestQuotasAreNotInTwoSpellingsOfAUnit(t *testing.T) {
	err := Quotas{{N: 5}, {N: 10, Unit: "tokens"}, {N: 100, Unit: "Token", Per: 60e9}}.Validate()
	if want := `quota: "100 Token/m": Unit is "Token", want "tokens" as in "10 tokens/s"; if both are meant, "no limit of Token" before it says so`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
	for _, fine := range []Quotas{
		{{N: 10, Unit: "tokens"}, {N: 100, Unit: "tokens", Per: 60e9}},
		{{N: 10, Unit: "tier1"}, {N: 10, Unit: "tier2"}},
		{{N: 10, Unit: "tokens"}, {Unit: "token"}}, // says that "token" is no mistake
		{{N: 10, Unit: "tokens"}, {Unit: "token"}, {N: 5, Unit: "token"}},
	} {
		if err := fine.Validate(); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
}

func TestParseRefusesTwoSpellingsOfAUnit(t *testing.T) {
	_, err := Parse("5/s, 10 tokens/s,  100 token/m")
	if want := `quota: column 20: "100 token/m": Unit is "token", want "tokens" as in "10 tokens/s"; if both are meant, "no limit of token" before it says so`; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
