package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

// Below pacer, each attempt has a span, and the wait stands beside them; above, one span has the wait in it.
func TestSpans(t *testing.T) {
	for name, test := range map[string]struct {
		client connect
		want   string
	}{
		"below": {below, `HTTP GET (client), from 0.0 s to 0.0 s, http.response.status_code 429
pacer wait (internal), from 0.0 s to 2.0 s, pacer.wait.causes [2s hold of api.example.com], http.request.resend_count 1
HTTP GET (client), from 2.0 s to 2.0 s, http.request.resend_count 1, http.response.status_code 200
`},
		"above": {above, `HTTP GET (client), from 0.0 s to 2.0 s, http.response.status_code 200
  pacer wait (internal), from 0.0 s to 2.0 s, pacer.wait.causes [2s hold of api.example.com], http.request.resend_count 1
`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				if err := run(&out, test.client, func() float64 { return 0 }); err != nil {
					t.Fatal(err)
				}
				if out.String() != test.want {
					t.Errorf("got\n%s\nwant\n%s", &out, test.want)
				}
			})
		})
	}
}
