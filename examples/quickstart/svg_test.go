package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer"
)

var update = flag.Bool("update", false, "write the drawing into the file with which it is compared")

// seenBy returns what servers of a kind see of both clients in virtual time: nothing is late, and a
// round trip takes 5 ms.
func seenBy(t *testing.T, kind int, after time.Duration) (results []result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(after)
		k := kinds(time.Now())[kind]
		lanes := []*lane{newLane(k, client{}), newLane(k, client{})}
		lanes[0].client = retrying(lanes[0].server.Transport())
		lanes[1].client = pacing(lanes[1].server.Transport())
		lanes[1].client.http.Transport.(*pacer.Transport).Rand = func() float64 { return 0.5 }
		for _, l := range lanes {
			l.server.Latency = 5 * time.Millisecond
			l.url = "http://api.example.com/"
		}
		var wg sync.WaitGroup
		for _, l := range lanes {
			wg.Go(func() { l.run(t.Context(), callers) })
		}
		wg.Wait()
		for _, l := range lanes {
			l.server.Close()
		}
		results = collect(lanes)
	})
	return results
}

func TestSVG(t *testing.T) {
	for range 5 {
		drawn := svg(seenBy(t, 0, 100*time.Millisecond))
		file := filepath.Join("..", "..", "docs", "quickstart.svg")
		if *update {
			if err := os.WriteFile(file, []byte(drawn), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), drawn); diff != "" {
			t.Fatalf("%s (-want +got), go test ./examples/quickstart -update writes it:\n%s", file, diff)
		}
	}
}

// The drawing is XML, has a title and a description for who does not see it, and loads nothing from outside.
func TestSVGSyntax(t *testing.T) {
	drawn, has := svg(both()), map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(drawn)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			has[e.Name.Local]++
		}
	}
	if has["title"] != 1 || has["desc"] != 1 {
		t.Errorf("it has %v, want a title and a desc", has)
	}
	if want := "<desc>retrying: 3.0 s, 4 refused; pacing: 2.0 s, 0 refused</desc>"; !strings.Contains(drawn, want) {
		t.Errorf("no %s in\n%s", want, drawn)
	}
	for _, s := range []string{"href", "url(", "@import", "<script"} {
		if strings.Contains(drawn, s) {
			t.Errorf("it has %s", s)
		}
	}
}

// Whenever in a second the program begins, the clients come to each server at the same point of its windows: no
// run is worse than others by chance.
func TestRunsAreAlike(t *testing.T) {
	for kind := range kinds(time.Time{}) {
		for after := 3 * time.Millisecond; after < window; after += window / 8 {
			for _, r := range seenBy(t, kind, after)[1:] {
				if ratio := r.took().Seconds() / r.least().Seconds(); ratio > 1.03 {
					t.Errorf("%s, begun at %v: %v, %.3f times the least", r.kind.name, after, r.took(), ratio)
				}
			}
		}
	}
}
