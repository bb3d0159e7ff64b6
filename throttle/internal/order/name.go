package order

import "fmt"

// names are those of the priorities of the rows.
var names = [Rows]string{"background", "normal", "urgent"}

// Name is the name of a priority: of its row, or "" for 0, which says that none is set.
func Name(priority int) string {
	if priority == 0 {
		return ""
	}
	return names[RowOf(priority)]
}

// ReadName sets a priority by its name. After an error, it is unchanged.
func ReadName(name []byte, priority *int) error {
	for _, p := range [...]int{0, -1, 1, 2} {
		if string(name) == Name(p) {
			*priority = p
			return nil
		}
	}
	return fmt.Errorf("throttle: priority %.40q, want one of %q", name, names)
}
