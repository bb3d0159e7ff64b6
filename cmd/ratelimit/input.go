package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/visible"
)

// answer is the head of an answer.
type answer struct {
	from     string // fit to be printed; empty for the only one
	status   int    // zero if not known
	header   http.Header
	received time.Time
}

// parseHead reads the head of an answer as curl prints it. Of several, which come of redirects and proxies, the last
// one counts. What follows an empty line is the body.
func parseHead(text string) ([]answer, error) {
	a := answer{header: http.Header{}}
	ended := false
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "HTTP/"):
			_, rest, _ := strings.Cut(line, " ")
			code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
			status, err := strconv.Atoi(code)
			if err != nil || status < 100 || status > 999 {
				return nil, fmt.Errorf("line %d has no status: %s", n, visible.Text(line, maxText))
			}
			a, ended = answer{status: status, header: http.Header{}}, false
			continue
		case strings.TrimSpace(line) == "":
			ended = a.status > 0 || len(a.header) > 0
			continue
		case ended:
			continue // the body
		}
		key, value, ok := strings.Cut(line, ":")
		if key = strings.TrimPrefix(key, "< "); !ok || key == "" || strings.ContainsAny(key, " \t") {
			return nil, fmt.Errorf("line %d is neither a status nor a header: %s", n, visible.Text(line, maxText))
		}
		a.header.Add(textproto.TrimString(key), textproto.TrimString(value))
	}
	if a.status == 0 && len(a.header) == 0 {
		return nil, errors.New("there is no answer in it\n" + usage)
	}
	a.received = receivedAt(a.header, time.Now())
	return []answer{a}, nil
}

// receivedAt returns when an answer arrived that may have been recorded a while ago: at its Date, if it has one.
func receivedAt(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// har is what is read of a HAR file (http://www.softwareishard.com/blog/har-12-spec).
type har struct {
	Log *struct {
		Entries []struct {
			Started time.Time `json:"startedDateTime"`
			Millis  float64   `json:"time"`
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
			Response struct {
				Status  int `json:"status"`
				Headers []struct {
					Name  string `json:"name"`
					Value string `json:"value"`
				} `json:"headers"`
			} `json:"response"`
		} `json:"entries"`
	} `json:"log"`
}

// parseHAR reads the answers of a HAR file: of each host the last one that says something of limits, in the order of
// the first ones.
func parseHAR(text []byte) ([]answer, error) {
	var file har
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("is no HAR file: %s", visible.Text(err.Error(), maxText))
	}
	if file.Log == nil {
		return nil, errors.New("is no HAR file: it has no log")
	}
	var all []answer
	index := map[string]int{}
	for _, e := range file.Log.Entries {
		h := http.Header{}
		for _, f := range e.Response.Headers {
			h.Add(f.Name, f.Value)
		}
		if !(*headers.Reader)(nil).Tells(h) {
			continue
		}
		u, err := url.Parse(e.Request.URL)
		if err != nil {
			u = &url.URL{}
		}
		took := time.Duration(min(max(e.Millis, 0), float64(time.Hour/time.Millisecond))) * time.Millisecond
		a := answer{from: place(u), status: e.Response.Status, header: h, received: e.Started.Add(took)}
		if i, ok := index[u.Host]; ok {
			all[i] = a
			continue
		}
		index[u.Host] = len(all)
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("none of its %d answers says anything of limits", len(file.Log.Entries))
	}
	return all, nil
}
