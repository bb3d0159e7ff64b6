package main

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// Lengths in the SVG, in pixels.
const (
	width    = 720
	edge     = 24 // around all
	leading  = 20 // from one line of text to the next
	tallest  = 60 // of a bar, for the most requests in a slot
	slotWide = 8  // from one bar to the next
	svgSlot  = 100 * time.Millisecond
)

// style has colors for light and for dark screens. The drawing has its own background, so that it can be
// read on any page.
const style = `<style>
text{font:13px system-ui,sans-serif;fill:#59636e}
.title,.name{font-weight:600;fill:#1f2328}
.title{font-size:17px}
.name{font-size:15px}
.page{fill:#fff;stroke:#d1d9e0}
.line{fill:none;stroke:#8c959f}
.tick{fill:none;stroke:#c3ccd5;stroke-dasharray:3}
.admitted{fill:#0969da}
.refused{fill:#bc4c00}
@media (prefers-color-scheme:dark){
text{fill:#9198a1}
.title,.name{fill:#f0f6fc}
.page{fill:#0d1117;stroke:#3d444d}
.line{stroke:#656c76}
.tick{stroke:#4a525c}
.admitted{fill:#4493f8}
.refused{fill:#f0883e}
}
</style>
`

// svg draws what the servers of one kind saw of their clients: upwards the requests that were admitted
// in each slot of time, downwards those that were refused.
func svg(results []result) string {
	seconds := 1
	for _, r := range results {
		seconds = max(seconds, int((r.stats.Last.Sub(r.stats.First)+time.Second-1)/time.Second))
	}
	n := seconds*int(time.Second/svgSlot) + 1
	title := fmt.Sprintf("%d requests to a server that admits %s", results[0].wanted, results[0].kind.quota)
	var said []string // the drawing in words
	var b strings.Builder
	y := edge + 12
	b.WriteString(words("title", edge, y, title))
	y += leading + 4
	b.WriteString(legend(y))
	for _, r := range results {
		y += leading + 14
		label := fmt.Sprintf("%.1f s, %d refused", r.took().Seconds(), r.stats.Refused)
		said = append(said, r.client+": "+label)
		fmt.Fprintf(&b, `<text class="name" x="%d" y="%d">%s <tspan font-weight="400" dx="6">%s</tspan></text>`+"\n", edge, y, html.EscapeString(r.client), label)
		y = draw(&b, r, y+10, n)
	}
	y += leading - 2
	for s := 0; s <= seconds; s++ {
		b.WriteString(words("axis", x(s)-3, y, fmt.Sprintf("%d s", s)))
	}
	height := y + edge - 6
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img">
<title>%[3]s</title>
<desc>%[4]s</desc>
%[5]s<rect class="page" x=".5" y=".5" width="%[6]d" height="%[7]d" rx="8"/>
`, width, height, html.EscapeString(title), html.EscapeString(strings.Join(said, "; ")), style, width-1, height-1) + b.String() + "</svg>\n"
}

// legend says what the bars are.
func legend(y int) string {
	return fmt.Sprintf(`<path class="admitted" d="M%d %dh10v10h-10z"/>`+"\n", edge, y-10) +
		words("legend", edge+16, y, fmt.Sprintf("admitted in %v", svgSlot)) +
		fmt.Sprintf(`<path class="refused" d="M%d %dh10v10h-10z"/>`+"\n", edge+150, y-10) +
		words("legend", edge+166, y, "refused with 429, and sent again")
}

// draw draws one timeline of n slots from y on, and returns the y of its lower end.
func draw(b *strings.Builder, r result, y, n int) int {
	admitted, refused := count(r.stats.Events, r.stats.First, svgSlot, n)
	most := 1
	for i := range n {
		most = max(most, admitted[i], refused[i])
	}
	zero, low := y+tallest, y+tallest
	for _, k := range refused {
		low = max(low, zero+tall(k, most))
	}
	low += 8
	for s := 0; x(s) <= x(0)+n*slotWide; s++ {
		fmt.Fprintf(b, `<path class="tick" d="M%d.5 %dV%d"/>`+"\n", x(s)-2, y, low)
	}
	fmt.Fprintf(b, `<path class="line" d="M%d %d.5h%d"/>`+"\n", edge, zero, n*slotWide)
	for i := range n {
		left := edge + i*slotWide
		if k := admitted[i]; k > 0 {
			fmt.Fprintf(b, `<path class="admitted" d="M%d %dv-%dh6v%dz"/>`+"\n", left, zero, tall(k, most), tall(k, most))
		}
		if k := refused[i]; k > 0 {
			fmt.Fprintf(b, `<path class="refused" d="M%d %dv%dh6v-%dz"/>`+"\n", left, zero+1, tall(k, most), tall(k, most))
		}
	}
	return low
}

// tall is the height of a bar for k of most requests. Every request can be seen.
func tall(k, most int) int { return max(2, tallest*k/most) }

// x is the place of a second.
func x(s int) int { return edge + s*int(time.Second/svgSlot)*slotWide }

// words draws a line of text.
func words(class string, x, y int, s string) string {
	return fmt.Sprintf(`<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, html.EscapeString(s))
}
