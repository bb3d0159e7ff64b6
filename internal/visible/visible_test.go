package visible

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	long := strings.Repeat("x", 40)
	for text, want := range map[string]string{
		"":                      "",
		"a b/c%2F":              "a b/c%2F",
		"é日本 ←":                 "é日本 ←",
		"a\nb\r\tc\x00":         "a%0Ab%0D%09c%00",
		"\x1b[2J\x7f":           "%1B[2J%7F",
		"\u009b31m":             "%C2%9B31m",                  // a control sequence in one character
		"a\u202eb\u200b\u00a0":  "a%E2%80%AEb%E2%80%8B%C2%A0", // right to left, nothing wide, a space that does not break
		"\u2028":                "%E2%80%A8",
		"\xff\xc3":              "%FF%C3",
		"\ufffd":                "\ufffd",
		long:                    long,
		long + "y":              long[:40-3-12] + "…" + Digest(long+"y"),
		long[:39] + "\n":        long[:40-3-12] + "…" + Digest(long[:39]+"\n"),
		strings.Repeat("é", 21): strings.Repeat("é", 12) + "…" + Digest(strings.Repeat("é", 21)),
	} {
		if got := Text(text, 40); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := Digest("me"), "2744ccd10c75"; got != want { // printf me | sha256sum
		t.Errorf("the digest is %s, want %s", got, want)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31mb", 100)
	f.Add(strings.Repeat("é", 100), 33)
	f.Add("\xff\u202e", 0)
	f.Fuzz(func(t *testing.T, text string, most int) {
		got := Text(text, most)
		if len(got) > max(most, len("…")+12) {
			t.Errorf("%q has %d bytes, want %d", got, len(got), most)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !strconv.IsPrint(r) }) {
			t.Errorf("%q cannot be printed", got)
		}
		if again := Text(got, max(most, len(got))); again != got {
			t.Errorf("%q is written as %q", got, again)
		}
	})
}

func TestFailure(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"dial tcp 10.0.0.1: \x1b":                "dial tcp 10.0.0.1: %1B",
		`parse "redis://me:pa@ss@h:6379/0": bad`: `parse "redis://…@h:6379/0": bad`,
		"redis://h/a@b":                          "redis://h/a@b",
		"://me@":                                 "://…@",
		"a://u:p@h b://v:q@i?@":                  "a://…@h b://…@i?@",
		"a://b://c@d":                            "a://b://…@d",
	} {
		if got := Failure(errors.New(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
