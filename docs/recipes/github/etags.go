package main

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// etags is a cache that asks the server whether what it has is still good. It stands for a real one, such as
// github.com/gregjones/httpcache.
type etags struct {
	next http.RoundTripper

	mu    sync.Mutex // protects known
	known map[string]entry
}

type entry struct {
	etag   string
	header http.Header
	body   []byte
}

// RoundTrip implements http.RoundTripper.
func (c *etags) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return c.next.RoundTrip(req)
	}
	key := req.URL.String()
	c.mu.Lock()
	e, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", e.etag)
	}
	resp, err := c.next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case ok && resp.StatusCode == http.StatusNotModified:
		resp.Body.Close()
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
		resp.Header.Set("X-From-Cache", "1")
		resp.Header.Set("Content-Type", e.header.Get("Content-Type"))
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(e.body)), int64(len(e.body))
	case resp.StatusCode == http.StatusOK && resp.Header.Get("ETag") != "":
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		if c.known == nil {
			c.known = map[string]entry{}
		}
		c.known[key] = entry{resp.Header.Get("ETag"), resp.Header, body}
		c.mu.Unlock()
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	return resp, nil
}
