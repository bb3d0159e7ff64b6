// Ratelimit says in plain words what an answer tells of rate limits: what the server allows, when it comes
// back, which quota text of pacer says the same, what read each header, and which headers nothing understood.
//
//	curl -sI https://api.github.com/ | go run github.com/gopacer/pacer/cmd/ratelimit
//	go run github.com/gopacer/pacer/cmd/ratelimit https://api.github.com/
//	go run github.com/gopacer/pacer/cmd/ratelimit session.har
//
// It reads the head of an answer, as curl -sI, -si and -v print it and as browsers show it, or a HAR file, as
// browsers save it, from a file or from standard input. A URL is asked once, without following redirects.
// Nothing is sent anywhere else.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, http.DefaultTransport)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ratelimit:", err)
		os.Exit(1)
	}
}
