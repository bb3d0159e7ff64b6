package value

import (
	"slices"
	"strings"
	"testing"
)

func TestMember(t *testing.T) {
	date := "Mon, 02 Mar 2026 12:00:00 GMT"
	for _, tt := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"a number", []string{"10"}, []string{"10"}},
		{"a list", []string{"10, 100"}, []string{"10", " 100"}},
		{"lines", []string{"10", "100, 1000"}, []string{"10", "100", " 1000"}},
		{"a date, whose comma separates nothing", []string{date}, []string{date}},
		{"dates", []string{date, date}, []string{date, date}},
		{"an end that is empty", []string{"10,"}, []string{"10", ""}},
		{"nothing", []string{""}, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := Members(tt.lines)
			got := make([]string, 0, n)
			for i := range n {
				got = append(got, Member(tt.lines, i))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("members are %q, want %q", got, tt.want)
			}
			if after := Member(tt.lines, n); after != "" {
				t.Errorf("Member(%d) = %q, want none", n, after)
			}
		})
	}
	if n := Members([]string{strings.Repeat("1,", MaxMembers+1)}); n != MaxMembers {
		t.Errorf("Members = %d, want %d at most", n, MaxMembers)
	}
}

func TestTrim(t *testing.T) {
	for text, want := range map[string]string{" a\t": "a", `" a"`: " a", `"`: `"`, ` "" `: "", "": ""} {
		if got := Trim(text); got != want {
			t.Errorf("Trim(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCleanName(t *testing.T) {
	long := strings.Repeat("x", MaxName+1)
	for text, want := range map[string]string{"a b": "a b", "a\nb": "", "caf\u00e9": "", long: long[:MaxName]} {
		if got := CleanName(text); got != want {
			t.Errorf("CleanName(%q) = %q, want %q", text, got, want)
		}
	}
}
