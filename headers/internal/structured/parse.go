package structured

import (
	"encoding/base64"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/gopacer/pacer/headers/internal/value"
)

// Lines appends the leading members of a field to lines, as many as are worth parsing, and
// no blank lines.
func Lines(lines, values []string) []string {
	size, count := 0, 0
	for _, v := range values {
		end, quoted := 0, false
		for i := 0; i < len(v) && size+i < value.MaxField && count < value.MaxMembers; i++ {
			switch {
			case v[i] == '\\' && quoted:
				i++
			case v[i] == '"':
				quoted = !quoted
			case v[i] == ',' && !quoted:
				end = i
				count++
			}
			if i >= len(v)-1 {
				end = len(v)
				count++
			}
		}
		size += len(v)
		if strings.Trim(v[:end], " \t") != "" {
			lines = append(lines, v[:end])
		}
	}
	return lines
}

// ParseList reads a list. It is false if the lines are none.
func ParseList(lines []string) ([]Member, bool) {
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return nil, false
	}
	members := make([]Member, 0, len(list))
	for _, i := range list {
		it, ok := i.(httpsfv.Item)
		if !ok {
			continue
		}
		var m Member
		m.Number, m.Name, m.Named = bare(it.Value)
		for _, key := range it.Params.Names() {
			v, _ := it.Params.Get(key)
			number, text, _ := bare(v)
			m.set(key, number, text)
		}
		members = append(members, m)
	}
	return members, true
}

// bare returns what a bare item is, a number or a text.
func bare(v any) (number value.Count, text string, isText bool) {
	switch v := v.(type) {
	case int64:
		if v >= 0 {
			return value.Count{N: min(v, value.MaxCount), Known: true}, "", false
		}
	case string:
		text, isText = value.CleanName(v), true
	case httpsfv.Token:
		text, isText = value.CleanName(string(v)), true
	case []byte:
		text = value.CleanName(base64.StdEncoding.EncodeToString(v))
	}
	return value.Count{N: -1}, text, isText
}

// ParseCombined reads the dictionary of draft 07. It is false if the lines are none, or if a
// key of the draft has a value that is no number.
func ParseCombined(lines []string) (Combined, bool) {
	if len(lines) == 1 {
		if c, ok := scanCombined(lines[0]); ok {
			return c, true
		}
	}
	return parseCombined(lines)
}

func parseCombined(lines []string) (c Combined, ok bool) {
	dict, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return c, false
	}
	for _, key := range [...]string{"limit", "remaining", "reset", "window"} {
		m, ok := dict.Get(key)
		if !ok {
			continue
		}
		item, ok := m.(httpsfv.Item)
		if !ok {
			return c, false
		}
		n, _, _ := bare(item.Value)
		if !n.Known && key != "window" {
			return c, false
		}
		c.set(key, n)
	}
	return c, true
}
