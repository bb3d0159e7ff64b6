package suites

import (
	"cmp"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/gopacer/pacer/interop"
)

// Table returns a row for each suite.
func Table(all []Report) interop.Grid {
	grid := interop.Grid{{
		"suite", "version", "packages", "bare", "pacer", "pacer, nothing sent twice", "differences", "seconds",
	}}
	for _, r := range all {
		line := []string{r.Suite.Name, cmp.Or(r.Suite.Version, runtime.Version()), strconv.Itoa(r.Packages)}
		differences, seconds := "", ""
		for _, mode := range Modes() {
			line = append(line, counts(r.Results[mode]))
			if mode != Bare {
				differences += sep(differences) + strconv.Itoa(of(mode, r.Differences))
			}
			seconds += sep(seconds) + fmt.Sprintf("%.0f", r.Took[mode].Round(time.Second).Seconds())
		}
		grid = append(grid, append(line, differences, seconds))
	}
	return grid
}

// counts says how many passed, and what did not.
func counts(r Results) string {
	n := r.Count()
	text := strconv.Itoa(n[Passed])
	if failed := n[Failed] + n[Unfinished]; failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if n[Skipped] > 0 {
		text += fmt.Sprintf(", %d skipped", n[Skipped])
	}
	return text
}

func sep(text string) string {
	if text == "" {
		return ""
	}
	return " · "
}

func of(mode Mode, all []Difference) (n int) {
	for _, d := range all {
		if d.Mode == mode {
			n++
		}
	}
	return n
}
