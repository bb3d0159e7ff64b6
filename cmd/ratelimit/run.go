package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gopacer/pacer/internal/visible"
)

const usage = `usage: curl -sI URL | ratelimit
       ratelimit URL      (asks it once)
       ratelimit FILE     (a HAR file, or the head of an answer)`

// maxInput bounds what is read, in bytes: a HAR file has the bodies in it.
const maxInput = 256 << 20

// maxText is how much of a text of others is printed, in bytes.
const maxText = 200

// run explains the answers that the arguments name, or those on in.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer, base http.RoundTripper) error {
	var (
		answers []answer
		err     error
	)
	switch {
	case len(args) > 1:
		return errors.New(usage)
	case len(args) == 0:
		answers, err = read("standard input", in)
	case strings.HasPrefix(args[0], "-"):
		return errors.New(usage)
	case strings.Contains(args[0], "://"):
		answers, err = ask(ctx, args[0], base)
	default:
		answers, err = readFile(args[0])
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for i := range answers {
		if i > 0 {
			b.WriteByte('\n')
		}
		answers[i].explain(&b)
	}
	_, err = b.WriteTo(out)
	return err
}

// readFile reads the answers in a file.
func readFile(path string) ([]answer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, usage)
	}
	defer f.Close()
	return read(path, f)
}

// read reads answers: a HAR file, or the head of one answer.
func read(from string, in io.Reader) ([]answer, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", visible.Text(from, maxText), err)
	}
	if len(text) > maxInput {
		return nil, fmt.Errorf("%s: is longer than %d MiB", visible.Text(from, maxText), maxInput>>20)
	}
	var all []answer
	if bytes.HasPrefix(bytes.TrimLeft(text, "\ufeff \t\r\n"), []byte("{")) {
		all, err = parseHAR(bytes.TrimLeft(text, "\ufeff"))
	} else {
		all, err = parseHead(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", visible.Text(from, maxText), err)
	}
	return all, nil
}

// ask asks a URL once.
func ask(ctx context.Context, rawURL string, base http.RoundTripper) ([]answer, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is no URL of http or https", visible.Text(rawURL, maxText))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rawURL, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "ratelimit (github.com/gopacer/pacer)")
	resp, err := base.RoundTrip(req) // once: a Client would follow redirects
	if err != nil {
		return nil, fmt.Errorf("%s: %s", place(u), visible.Text(err.Error(), maxText))
	}
	resp.Body.Close()
	return []answer{{from: place(u), status: resp.StatusCode, header: resp.Header, received: time.Now()}}, nil
}

// place returns what is shown of a URL: its query and its user may be secrets.
func place(u *url.URL) string { return visible.Text(u.Host+u.EscapedPath(), maxText) }
