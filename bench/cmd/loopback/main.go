// The program measures what pacer adds to requests over real HTTP/1.1 on loopback, from 16 callers: requests a
// second, and the time of processors for each, of this process alone: the servers are others. It measures in
// turns with the bare http.Transport, prints medians, and exits with 1 if pacer makes fewer than 0.97 of its
// requests, or needs more than 1.05 of its time. On a machine that does something else, too, that may be for
// that reason: look at more than one run.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/bench"
)

// serverVar says to a process that it is the server, and whether its answers state limits.
const serverVar = "PACER_BENCH_SERVER"

const (
	plain = "no limits"
	trio  = "an X-RateLimit trio"
)

func main() {
	if answers := os.Getenv(serverVar); answers != "" {
		fmt.Fprintln(os.Stderr, "loopback:", serve(answers == trio))
		os.Exit(1)
	}
	callers := flag.Int("callers", 16, "how many send requests, one after another each")
	rounds := flag.Int("rounds", 11, "how often each is measured")
	d := flag.Duration("for", time.Second, "how long each time")
	flag.Parse()
	met, err := compare(os.Stdout, *callers, max(*rounds, 1), *d)
	if err != nil {
		fmt.Fprintln(os.Stderr, "loopback:", err)
	}
	if err != nil || !met {
		os.Exit(1)
	}
}

// serve is the server. It ends when its standard input does.
func serve(limits bool) error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stdout, "http://"+l.Addr().String()+"/")
	return bench.Serve(l, limits)
}

// compare measures both clients at both servers, prints the table, and reports whether the goals are met.
func compare(w io.Writer, callers, rounds int, d time.Duration) (met bool, err error) {
	fmt.Fprintln(w, "| answers | client | requests/s | ÷ bare | CPU for each | ÷ bare | |\n|---|---|---|---|---|---|---|")
	met = true
	for _, answers := range []string{plain, trio} {
		ok, err := at(w, answers, callers, rounds, d)
		if err != nil {
			return false, err
		}
		met = met && ok
	}
	return met, nil
}

// begin begins a server that is a process of its own, and returns its URL.
func begin(answers string) (url string, end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	server := exec.CommandContext(context.Background(), self)
	server.Env, server.Stderr = append(os.Environ(), serverVar+"="+answers), os.Stderr
	stop, err := server.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	url, err = bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(url), func() {
		stop.Close()
		_ = server.Wait()
	}, err
}

// at measures both clients, each at a server that counts its requests alone: at one server, pacer would see
// that others use the limit, too.
func at(w io.Writer, answers string, callers, rounds int, d time.Duration) (met bool, err error) {
	var urls [2]string
	for i := range urls {
		url, end, err := begin(answers)
		if end != nil {
			defer end()
		}
		if err != nil {
			return false, err
		}
		urls[i] = url
	}
	base := func() *http.Transport { return &http.Transport{MaxIdleConnsPerHost: callers} }
	clients := [len(urls)]http.RoundTripper{base(), &pacer.Transport{Base: base()}}
	var perSecond, cpu [len(clients)][]float64
	var rate, work []float64 // pacer ÷ bare, by rounds
	for round := range rounds + 1 {
		var of [len(clients)]bench.Loopback
		for i := range clients {
			c := (i + round) % len(clients)
			if of[c], err = bench.Load(clients[c], urls[c], callers, d); err != nil {
				return false, err
			}
		}
		if round == 0 {
			continue // connections are made, and the slow start is over
		}
		for c := range of {
			perSecond[c], cpu[c] = append(perSecond[c], of[c].PerSecond), append(cpu[c], float64(of[c].CPU))
		}
		rate, work = append(rate, of[1].PerSecond/of[0].PerSecond), append(work, float64(of[1].CPU)/float64(of[0].CPU))
	}
	r, c := median(rate), median(work)
	verdict := "met"
	if met = r >= 0.97 && c <= 1.05; !met {
		verdict = "MISSED"
	}
	fmt.Fprintf(w, "| %s | bare http.Transport | %.0f | | %v | | |\n", answers, median(perSecond[0]), time.Duration(median(cpu[0])))
	fmt.Fprintf(w, "| | pacer | %.0f | %.3f | %v | %.3f | %s |\n", median(perSecond[1]), r, time.Duration(median(cpu[1])), c, verdict)
	return met, nil
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return (xs[len(xs)/2] + xs[(len(xs)-1)/2]) / 2
}
