// Package pictures draws what programs do, as SVG, for the documentation. All pictures are of real runs, in
// virtual time, so that they come out the same each time. The tests compare them with the files in directory
// docs;
//
//	go generate ./internal/tests/pictures
//
// writes these, and those of examples/burst and examples/quickstart.
package pictures

//go:generate go test github.com/gopacer/pacer/internal/tests/pictures github.com/gopacer/pacer/examples/burst github.com/gopacer/pacer/examples/quickstart -update

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the pictures into the files with which they are compared")

// compare compares a picture with the file of docs. Who cannot see it is told its figures, by a page of docs
// too.
func compare(t *testing.T, name string, p *picture) {
	t.Helper()
	drawn := p.String()
	file := filepath.Join("..", "..", "..", "docs", name)
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
		t.Errorf("%s (-want +got), go generate ./internal/tests/pictures writes it:\n%.2000s", file, diff)
	}
	has := map[string]int{}
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
	if has["title"] != 1 || has["desc"] != 1 || len(drawn) > 20_000 {
		t.Errorf("%s has %v in %d bytes, want a title and a desc, and 20 kB at most", name, has, len(drawn))
	}
	alt := altOf(t, name)
	for _, figure := range regexp.MustCompile(`\d+(\.\d+)?`).FindAllString(strings.Join(p.said, "; "), -1) {
		if !strings.Contains(alt, figure) {
			t.Errorf("of %s the page says %q, want %s in it", name, alt, figure)
		}
	}
	for _, s := range []string{"href", "url(", "@import", "<script"} {
		if strings.Contains(drawn, s) {
			t.Errorf("%s has %s", name, s)
		}
	}
}

// altOf returns what a page of docs says of a picture.
func altOf(t *testing.T, name string) string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`!\[([^\]]*)\]\(` + regexp.QuoteMeta(name) + `\)`).FindSubmatch(text); m != nil {
			return string(m[1])
		}
	}
	t.Errorf("no page shows %s", name)
	return ""
}

// Lengths in pixels. A phone shows half of it, so that the text is large.
const (
	width   = 680
	edge    = 24 // around all
	leading = 24 // from one line of text to the next
)

// style has colors for light and for dark screens. A picture has its own background, so that it can be read on
// any page.
const style = `<style>
text{font:16px system-ui,sans-serif;fill:#59636e}
.title,.name{font-weight:600;fill:#1f2328}
.title{font-size:18px}
.page{fill:#fff;stroke:#d1d9e0}
.line{fill:none;stroke:#8c959f}
.tick{fill:none;stroke:#c3ccd5;stroke-dasharray:3}
.one{fill:#0969da}
.two{fill:#bc4c00}
.ring{fill:none;stroke:#bc4c00;stroke-width:1.5}
@media (prefers-color-scheme:dark){
text{fill:#9198a1}
.title,.name{fill:#f0f6fc}
.page{fill:#0d1117;stroke:#3d444d}
.line{stroke:#656c76}
.tick{stroke:#4a525c}
.one{fill:#4493f8}
.two{fill:#f0883e}
.ring{stroke:#f0883e}
}
</style>
`

// picture is an SVG that grows downwards.
type picture struct {
	strings.Builder
	title string
	said  []string // the picture in words
	y     int      // of the latest line of text
}

func newPicture(title string) *picture {
	p := &picture{title: title, y: edge - 6}
	p.text("title", edge, title)
	return p
}

// text draws a line of text below the latest one.
func (p *picture) text(class string, x int, text string) {
	p.y += leading
	p.words(class, x, p.y, text)
}

// words draws a line of text anywhere.
func (p *picture) words(class string, x, y int, text string) {
	fmt.Fprintf(p, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, html.EscapeString(text))
}

// path draws a path.
func (p *picture) path(class, format string, args ...any) {
	fmt.Fprintf(p, `<path class="%s" d="%s"/>`+"\n", class, fmt.Sprintf(format, args...))
}

// String returns the SVG.
func (p *picture) String() string {
	height := p.y + edge
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img">
<title>%[3]s</title>
<desc>%[4]s</desc>
%[5]s<rect class="page" x=".5" y=".5" width="%[6]d" height="%[7]d" rx="8"/>
`, width, height, html.EscapeString(p.title), html.EscapeString(strings.Join(p.said, "; ")), style, width-1, height-1) + p.Builder.String() + "</svg>\n"
}
