package main

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake()
		defer api.Close()
		start := time.Now()
		var out strings.Builder
		if err := run(t.Context(), &out, &screen{out: &out, every: time.Second}, api.Transport()); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if got, want := lines[len(lines)-1], "490 pages of 49 hosts; later: host13.example.com (in 1h0m0s)"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		// Ten pages of a host, two in a second, take 4.5 s and the time of an answer: what is printed after a
		// second is 3.5 s.
		if got, want := time.Since(start), 4550*time.Millisecond; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
		for i, want := range []string{"4s", "3s", "2s", "1s"} {
			progress, ok := strings.CutSuffix(lines[i], " to go")
			_, got, _ := strings.Cut(progress, " wait, ")
			if d, err := time.ParseDuration(got); !ok || err != nil || (d-mustParse(t, want)).Abs() > time.Second/2 {
				t.Errorf("printed %q, want about %s to go", lines[i], want)
			}
		}
		if api.tooFast != 0 || api.asked["host13.example.com"] != 1 {
			t.Errorf("%d too fast, want none; asked host13 %d times, want 1", api.tooFast, api.asked["host13.example.com"])
		}
	})
}

// On a terminal there is a line for each host that has room, which the next ones overwrite, and at last only
// the summary is left.
func TestScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake()
		defer api.Close()
		var out strings.Builder
		if err := run(t.Context(), &out, &screen{out: &out, every: time.Second, rows: 3}, api.Transport()); err != nil {
			t.Fatal(err)
		}
		frames := strings.Split(out.String(), "\x1b[4A\x1b[J") // four lines up, and away with them
		if len(frames) != 5 || frames[4] != "490 pages of 49 hosts; later: host13.example.com (in 1h0m0s)\n" {
			t.Fatalf("%d frames: %q", len(frames), frames)
		}
		// Two pages in a second, in line for the quota. After a second, two are done and the third one goes now
		// or is under way.
		host := regexp.MustCompile(`^host\d+\.example\.com +[23] done, [23]\.0/s, [78] wait for (pace 2/s even|in flight 1 in flight), [34](\.5)?s to go$`)
		lines := strings.Split(strings.TrimSpace(frames[0]), "\n")
		for _, line := range lines[:3] {
			if !host.MatchString(line) {
				t.Errorf("%q", line)
			}
		}
		if all := lines[3]; !strings.HasSuffix(all, " to go; 47 more hosts") {
			t.Errorf("%q", all)
		}
	})
}

func mustParse(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
