// The program draws the boundary burst: a counter that begins anew every second lets twice its limit
// through around the end of a second. The same greedy client asks five limiters of 10 requests a
// second, and the program draws in the terminal which requests each limiter let through. With -svg
// FILE it also writes them into FILE, as an SVG. It runs offline and takes about three seconds.
//
// The drawing shows what really happened, on limiters that ran. The test of this package runs the
// same program in virtual time, in which nothing is late, and compares the drawing with
// docs/burst.svg. With -update, the test writes that file.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	file := flag.String("svg", "", "draw into this `file` too")
	flag.Parse()
	if err := burst(os.Stdout, *file, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "burst:", err)
		os.Exit(1)
	}
}

// burst is the program. It draws on out, and into the file if one is named.
func burst(out io.Writer, file string, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is not expected, flags only (see -help)", args[0])
	}
	ws := ways()
	if _, err := io.WriteString(out, intro()); err != nil {
		return err
	}
	if err := ask(ws); err != nil {
		return err
	}
	if _, err := io.WriteString(out, text(ws)); err != nil {
		return err
	}
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(svg(ws)), 0o644)
}
