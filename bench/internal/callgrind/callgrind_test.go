package callgrind

import (
	"errors"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// The count of a path does not depend on how often it is gone.
func TestCount(t *testing.T) {
	const path = "bare base, plain"
	few, err := Count(path, 10_000)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	many, err := Count(path, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	if few < 100 || many < few*0.95 || many > few*1.05 {
		t.Errorf("%.0f instructions of 10,000 rounds, %.0f of 20,000, want the same, and more than 100", few, many)
	}
	if _, err := Count("no such path", 1); err == nil {
		t.Error("counted a path that does not exist")
	}
}
