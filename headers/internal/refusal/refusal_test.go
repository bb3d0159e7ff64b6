package refusal

import "testing"

func TestOf(t *testing.T) {
	for s, want := range map[string]Refusal{
		"global-rate":            TooFast,
		"\tendpoint-concurrency": TooMany,
		"SlowDown":               TooFast,
		"com.amazonaws.sqs#ThrottlingException:http://internal.amazon.com/": TooFast,
		"LimitExceededException": Unknown, // a rate, or the quota of a usage plan
		"resource-specific":      Unknown,
		"#":                      Unknown,
		":":                      Unknown,
		"":                       Unknown,
	} {
		if got := Of(s); got != want {
			t.Errorf("Of(%q) = %v, want %v", s, got, want)
		}
	}
}
