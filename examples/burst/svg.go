package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// Lengths in the SVG, in pixels.
const (
	width   = 680
	margin  = 24
	leading = 20 // from one line of text to the next
	column  = 20 // from one step to the next
	middle  = 8  // from the start of a step to the middle of its pile
	pile    = 7  // from one dot of a pile to the next
)

// style has colors for light and for dark screens. The drawing has its own background, so that it can be read
// on any page.
const style = `<style>
svg{color:#0969da}
text{font:13px system-ui,sans-serif;fill:#59636e}
.title,.name{font-weight:600;fill:#1f2328}
.title{font-size:17px}
.name{font-size:15px}
.quota{font:13px ui-monospace,monospace}
.most{font-weight:600;fill:currentColor;text-anchor:middle}
.page{fill:#fff;stroke:#d1d9e0}
.edge{fill:none;stroke:#c3ccd5;stroke-dasharray:3}
.bracket{fill:none;stroke:currentColor}
circle{fill:currentColor}
.over{color:#bc4c00}
@media (prefers-color-scheme:dark){
svg{color:#4493f8}
text{fill:#9198a1}
.title,.name{fill:#f0f6fc}
.page{fill:#0d1117;stroke:#3d444d}
.edge{stroke:#4a525c}
.over{color:#f0883e}
}
</style>
`

// svg draws the same as text. A span in which more requests went than the limit has another color.
func svg(ws []*way) string {
	var b strings.Builder
	y := margin + 12
	b.WriteString(words("title", margin, y, title()))
	y += 4
	for _, s := range story() {
		y += leading
		b.WriteString(words("line", margin, y, s))
	}
	for _, w := range ws {
		y += 2 * leading
		y = w.svg(&b, y)
	}
	y += leading + 8
	for t := time.Duration(0); t < end; t += per {
		b.WriteString(words("axis", x(t)-2, y, t.String()))
	}
	height := y + margin
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img">
<title>%[3]s</title>
%[4]s<rect class="page" x=".5" y=".5" width="%[5]d" height="%[6]d" rx="8"/>
`, width, height, html.EscapeString(title()), style, width-1, height-1)
	return head + b.String() + "</svg>\n"
}

// svg draws one way from y on, and returns the y of its last line.
func (w *way) svg(b *strings.Builder, y int) int {
	from, most := w.fullest()
	over := "most"
	if most > limit {
		over = "most over"
	}

	fmt.Fprintf(b, `<text class="name" x="%d" y="%d">%s <tspan class="quota" dx="6">%s</tspan></text>`+"\n",
		margin, y, html.EscapeString(w.name), html.EscapeString(w.quota.String()))
	y += leading
	b.WriteString(words("line", margin, y, w.when))

	counts := w.counts()
	top := y + 12
	y = top + pile*slices.Max(counts) + 6
	for t := time.Duration(0); t < end; t += per {
		fmt.Fprintf(b, `<path class="edge" d="M%d.5 %dV%d"/>`+"\n", x(t), top, y)
	}
	for i, n := range counts {
		t := time.Duration(i) * step
		class := ""
		if most > limit && from <= t && t < from+per {
			class = ` class="over"`
		}
		for j := range n {
			fmt.Fprintf(b, `<circle%s cx="%d" cy="%d" r="3"/>`+"\n", class, x(t)+middle, y-6-pile*j)
		}
	}

	left, right := x(from)+middle-4, x(from+per)+middle-6
	fmt.Fprintf(b, `<path class="bracket %s" d="M%d.5 %dv6H%d.5v-6"/>`+"\n", over, left, y, right)
	y += leading
	b.WriteString(words(over, (left+right)/2, y, fmt.Sprintf("%d in %v", most, per)))
	return y
}

// x is the place of an instant.
func x(t time.Duration) int { return margin + int(column*t/step) }

// words draws a line of text.
func words(class string, x, y int, s string) string {
	return fmt.Sprintf(`<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, html.EscapeString(s))
}
