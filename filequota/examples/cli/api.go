package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/gopacer/pacer/pacertest"
)

// serve is the API, until in ends. It tells its URL, and how many requests it has refused.
func serve(in io.Reader, out io.Writer) error {
	server := pacertest.NewServer(&pacertest.TokenBucket{Rate: 100, Burst: 20}, pacertest.RetryAfterOnly)
	if _, err := fmt.Fprintln(out, server.Start()); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, in)
	_, err2 := fmt.Fprintln(out, server.Stats().Refused)
	return errors.Join(err, err2)
}

// start starts an API. It is a process of its own, since in one that starts a hundred others it would see
// requests 0.3 s late, many at once. End ends it, and returns how many requests it has refused.
func start(ctx context.Context, exe string) (url string, end func() (refused int, err error), err error) {
	cmd := exec.CommandContext(ctx, exe, "-api")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	_, err = fmt.Fscanln(out, &url)
	return url, func() (refused int, err error) {
		err = in.Close()
		_, err2 := fmt.Fscanln(out, &refused)
		return refused, errors.Join(err, err2, cmd.Wait())
	}, err
}
