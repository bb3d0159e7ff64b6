package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/gopacer/pacer/internal/visible"
)

const usage = `usage: curl -sI URL | ratelimit
       ratelimit URL      (asks it once)
       ratelimit FILE     (a HAR file, or the head of an answer; - is standard input)`

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
	case len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help"):
		_, err = fmt.Fprintln(out, usage)
		return err
	case len(args) > 1:
		return errors.New(usage)
	case len(args) == 0 || args[0] == "-":
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
	if errors.Is(err, fs.ErrNotExist) && strings.Contains(path, ".") {
		return nil, fmt.Errorf("there is no file %s; a URL begins with https://\n%s", visible.Text(path, maxText), usage)
	}
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
	text = bytes.TrimLeft(decode(text), "\ufeff")
	var all []answer
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) && !bytes.HasPrefix(text, []byte("{ [")) { // what curl -v prints
		all, err = parseHAR(text)
	} else {
		all, err = parseHead(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", visible.Text(from, maxText), err)
	}
	return all, nil
}

// decode returns a text in UTF-8, also if it is one in UTF-16, which the redirections of Windows PowerShell
// write.
func decode(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, 0, len(text)/2)
	for i := 0; i+1 < len(text); i += 2 {
		units = append(units, order.Uint16(text[i:]))
	}
	return []byte(string(utf16.Decode(units)))
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
