package name

import (
	"fmt"
	"strings"
	"testing"
)

// TestTable compares a full table with a map.
func TestTable(t *testing.T) {
	table, want := &Table{}, map[string]*Meaning{}
	for i := range MaxTable {
		key := fmt.Sprintf("X-Name-%d", i*i)
		want[key] = &Meaning{Name: key}
		if !table.Add(key, want[key]) {
			t.Fatalf("there is no room for %s, the name of number %d", key, i)
		}
	}
	if !table.Add("x-name-1", &Meaning{}) || table.Add("X-Other", &Meaning{}) {
		t.Error("a full table takes a name, or does not know one that it has")
	}
	for i := range MaxTable * MaxTable {
		key := fmt.Sprintf("X-Name-%d", i)
		for _, spelled := range []string{key, strings.ToLower(key), strings.ToUpper(key)} {
			if got := table.Lookup(spelled); got != want[key] {
				t.Fatalf("Lookup(%q) = %v, want %v", spelled, got, want[key])
			}
		}
	}
	for _, key := range []string{"", "X", "Xx", strings.Repeat("x", maxKey+1)} {
		if got := table.Lookup(key); got != nil {
			t.Errorf("Lookup(%q) = %v, want none", key, got)
		}
	}
}
