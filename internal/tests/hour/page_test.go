// Package hour plays the first hour of a newcomer, as far as a program can: what README.md, those of
// nested modules, and the pages of docs show is extracted and tried. Snippets compile, programs run and print
// what the text says that they print, commands name what is there, links lead somewhere, and texts of quotas
// can be read. It needs no network.
package hour

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// page is a page of the documentation.
type page struct {
	path   string // from the root of the module, with slashes
	module string // the directory of the nested module that it is of; empty for this one
	text   string
	blocks []block
}

// block is a piece of code in a fence.
type block struct {
	language, text string
	line           int    // where it begins
	after          string // the text that follows it, up to the next heading or fence
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// nested are the modules below this one that users import.
var nested = []string{"filequota", "pacerotel", "redisquota"}

// pages returns README.md, the pages of docs, and README.md of each nested module. What is below docs is a
// module of its own.
func pages(t *testing.T) (all []page) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	paths = append([]string{filepath.Join(root, "README.md")}, paths...)
	for _, module := range nested {
		paths = append(paths, filepath.Join(root, module, "README.md"))
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		p := page{path: filepath.ToSlash(name), text: string(b)}
		if module := filepath.Dir(name); slices.Contains(nested, module) {
			p.module = module
		}
		for _, at := range fence.FindAllStringSubmatchIndex(p.text, -1) {
			after := p.text[at[1]:]
			if end := regexp.MustCompile("(?m)^(```|#)").FindStringIndex(after[1:]); end != nil {
				after = after[:end[0]+1]
			}
			p.blocks = append(p.blocks, block{
				language: p.text[at[2]:at[3]],
				text:     p.text[at[4]:at[5]],
				line:     1 + strings.Count(p.text[:at[0]], "\n"),
				after:    after,
			})
		}
		all = append(all, p)
	}
	return all
}

// prose returns the page without its blocks of code.
func (p *page) prose() string { return fence.ReplaceAllString(p.text, "") }

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// A newcomer reads README.md on a few screens.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(pages(t)[0].text, "\n"); n > 150 {
		t.Errorf("README.md has %d lines, want 150 at most: put it into a page of docs, or into a line that is there", n)
	}
}

// Links within the repository lead to files and headings that are there.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, p := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(p.prose(), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			path := p.path
			if file != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), file))
			}
			if !exists(t, path) {
				t.Errorf("%s: %s is not there", p.path, m[1])
				continue
			}
			if anchor == "" {
				continue
			}
			b, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			if !hasHeading(string(b), anchor) {
				t.Errorf("%s: %s has no heading %s", p.path, path, anchor)
			}
		}
	}
}

// hasHeading reports whether a text has a heading to which GitHub gives this anchor.
func hasHeading(text, anchor string) bool {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		slug := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// Who does not see the first picture is told its figures.
func TestPictureInWords(t *testing.T) {
	alt := regexp.MustCompile(`!\[([^\]]*)\]\(docs/quickstart\.svg\)`).FindStringSubmatch(pages(t)[0].text)
	drawn, err := os.ReadFile(filepath.Join(root, "docs", "quickstart.svg"))
	if err != nil {
		t.Fatal(err)
	}
	desc := regexp.MustCompile(`<desc>retryablehttp: (.*), (\d+) refused; pacer: (.*), 0 refused</desc>`).FindStringSubmatch(string(drawn))
	if alt == nil || desc == nil {
		t.Fatalf("text %q, picture %q", alt, desc)
	}
	for _, figure := range desc[1:] {
		if !strings.Contains(alt[1], figure) {
			t.Errorf("the text says %q, want %s in it", alt[1], figure)
		}
	}
}
