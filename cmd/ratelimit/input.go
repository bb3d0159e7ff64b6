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

// parseHead reads the head of an answer as curl prints it, also with -v, or as a browser shows it. Of several,
// which come of redirects and proxies, the last one counts. What follows an empty line is the body.
func parseHead(text string) ([]answer, error) {
	r := headReader{answer: answer{header: http.Header{}}}
	n, pairs, name := 0, inPairs(text), ""
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case !pairs:
		case name != "":
			line, name = name+" "+line, ""
		default:
			if strings.HasSuffix(line, ":") {
				name = line
			}
			continue // else it is a heading
		}
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("line %d %w: %s", n, err, visible.Text(line, maxText))
		}
	}
	if r.isEmpty() {
		return nil, errors.New("there is no answer in it\n" + usage)
	}
	r.received = receivedAt(r.header, time.Now())
	return []answer{r.answer}, nil
}

// inPairs reports whether each value of a head is on the line after its name, as Chrome copies them. If that
// line is folded, or a header itself, the first one only has no value on its own line, or none.
func inPairs(text string) bool {
	first, rest, _ := strings.Cut(text, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	name, _, header := strings.Cut(second, ": ")
	header = header && !strings.ContainsAny(name, " \t\"")
	return strings.HasSuffix(strings.TrimRight(first, "\r"), ":") && rest != "" && rest[0] != ' ' && rest[0] != '\t' && !header
}

// headReader reads the head of an answer line by line.
type headReader struct {
	answer
	last  string // the name of the header that a line may go on with
	ended bool   // the body follows
}

func (r *headReader) isEmpty() bool { return r.status == 0 && len(r.header) == 0 }

// line reads a line.
func (r *headReader) line(line string) error {
	if isOfCurl(line) {
		return nil
	}
	if rest, ok := strings.CutPrefix(line, "<"); ok && (rest == "" || rest[0] == ' ') {
		line = strings.TrimPrefix(rest, " ")
	}
	key, value, ok := strings.Cut(line, ":")
	switch {
	case strings.HasPrefix(line, "HTTP/"):
		_, rest, _ := strings.Cut(line, " ")
		code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		return r.begin(code)
	case strings.TrimSpace(line) == "":
		r.ended = !r.isEmpty()
	case r.ended: // the body
	case strings.HasPrefix(line, ":status:"): // as browsers show HTTP/2
		return r.begin(strings.TrimSpace(line[len(":status:"):]))
	case key == "Status Code": // as Chrome shows any
		code, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		return r.begin(code)
	case isOfChrome(key):
	case (line[0] == ' ' || line[0] == '\t') && r.last != "": // a line that is folded (RFC 9112, 5.2)
		v := r.header[r.last]
		v[len(v)-1] += " " + textproto.TrimString(line)
	case !ok || key == "" || strings.ContainsAny(key, " \t"):
		return errors.New("is neither a status nor a header")
	default:
		r.last = textproto.CanonicalMIMEHeaderKey(key)
		r.header.Add(key, textproto.TrimString(value))
	}
	return nil
}

// begin begins an answer. A body may have lines that look as if.
func (r *headReader) begin(code string) error {
	status, err := strconv.Atoi(code)
	switch {
	case err == nil && status >= 100 && status <= 999:
		*r = headReader{answer: answer{status: status, header: http.Header{}}}
	case !r.ended:
		return errors.New("has no status")
	}
	return nil
}

// isOfCurl reports whether a line is what curl -v prints beside the answer: what it does, the request, and how
// much it read.
func isOfCurl(line string) bool {
	for _, prefix := range [...]string{"* ", "> ", "{ [", "} ["} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return line == ">" || line == "*"
}

// isOfChrome reports whether a name is one of what Chrome shows of a request beside the headers of its answer.
func isOfChrome(name string) bool {
	switch name {
	case "Request URL", "Request Method", "Remote Address", "Referrer Policy":
		return true
	}
	return false
}

// receivedAt returns when an answer arrived that may have been recorded a while ago: at its Date, if it has
// one.
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
			Started string `json:"startedDateTime"`
			Millis  any    `json:"time"` // programs write texts, too
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

// parseHAR reads the answers of a HAR file: of each host the last one that says something of limits, in the
// order of the first ones.
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
		if !(*headers.Reader)(nil).Reads(h) {
			continue
		}
		u, err := url.Parse(e.Request.URL)
		if err != nil {
			u = &url.URL{}
		}
		a := answer{from: place(u), status: e.Response.Status, header: h, received: receivedAt(h, time.Now())}
		if started, err := time.Parse(time.RFC3339, e.Started); err == nil {
			millis, _ := e.Millis.(float64)
			a.received = started.Add(time.Duration(min(max(millis, 0), float64(time.Hour/time.Millisecond))) * time.Millisecond)
		}
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
