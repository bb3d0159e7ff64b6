package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// An answer that is kept while its request waits, and returned after all, is as the server
// sent it: also one that broke off, however it is read.
func TestKeptBodyThatBreaksOff(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			replies(503, "part", "Content-Length", "100")(w, r)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, PrepareRetry: func(*http.Request) error { return lab.ErrBroken }}}
		for name, read := range map[string]func(io.Reader) (string, error){
			"ReadAll": func(r io.Reader) (string, error) { b, err := io.ReadAll(r); return string(b), err },
			"Copy": func(r io.Reader) (string, error) {
				var b bytes.Buffer
				_, err := io.Copy(&b, r)
				return b.String(), err
			},
		} {
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := read(resp.Body); got != "part" || err == nil {
				t.Errorf("%s: %q, %v, want \"part\" and an error", name, got, err)
			}
			resp.Body.Close()
			if _, err := resp.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("%s: reading after Close: %v", name, err)
			}
		}
	})
}

// One that stalls neither delays the next attempt nor is lost if there is none.
func TestKeptBodyThatStalls(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		sent := 0
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			if sent++; r.URL.Path == "/better" && sent > 1 {
				return
			}
			w.Header().Set("Content-Length", "4")
			w.WriteHeader(http.StatusServiceUnavailable)
			http.NewResponseController(w).Flush()
			select {
			case <-time.After(time.Minute):
				io.WriteString(w, "text")
			case <-r.Context().Done():
			}
		})
		start := time.Now()
		hit(t, &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}, 1, "http://a.example/better")
		if took := time.Since(start); took != time.Second+drainTime {
			t.Errorf("took %v, want 1.1s", took)
		}
		start = time.Now()
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, PrepareRetry: func(*http.Request) error { return lab.ErrBroken }}}
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
		if got := lab.Read(t, resp); got != "text" {
			t.Errorf("read %q", got)
		}
		resp.Body.Close()
	})
}

// One that comes bit by bit, and is returned after all, gives its first bytes at once.
func TestKeptBodyGivesItsFirstBytes(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "first")
			http.NewResponseController(w).Flush()
			time.Sleep(time.Minute)
			io.WriteString(w, " last")
		})
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, PrepareRetry: func(*http.Request) error { return lab.ErrBroken }}}
		start := time.Now()
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		first := make([]byte, 10)
		if n, err := resp.Body.Read(first); string(first[:n]) != "first" || err != nil || time.Since(start) != time.Second {
			t.Errorf("read %q, %v, after %v, want it after 1s", first[:n], err, time.Since(start))
		}
		if got := lab.Read(t, resp); got != " last" || time.Since(start) != time.Minute {
			t.Errorf("read %q after %v, want it after 1m", got, time.Since(start))
		}
	})
}

// A look at the body of an error that stalls takes a second, and no longer than the context or AttemptTimeout.
// The answer is returned as it came, with the rest still to be read.
func TestReadBodyThatStalls(t *testing.T) {
	for name, test := range map[string]struct {
		context, attempt time.Duration // zero means none
		want             time.Duration
		rest             string
	}{
		"no end":         {0, 0, time.Second, "}"},
		"context":        {time.Second / 2, 0, time.Second / 2, ""},
		"AttemptTimeout": {0, time.Second / 3, time.Second / 3, "}"},
		"far ends":       {time.Hour, time.Hour, time.Second, "}"},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Protocols(t, func(t *testing.T, two bool) {
				t.Helper()
				base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusNotFound)
					io.WriteString(w, "{")
					http.NewResponseController(w).Flush()
					select {
					case <-time.After(time.Minute):
						io.WriteString(w, "}")
					case <-r.Context().Done():
					}
				})
				tr := &pacer.Transport{Base: base, Learn: pacer.Learn{Bodies: pacer.ErrorBodies}, Retry: pacer.Retry{AttemptTimeout: test.attempt}, Quotas: lab.All(lab.InFlight(1))}
				req, start := lab.Request(t, "GET", "http://a.example/", ""), time.Now()
				if test.context > 0 {
					ctx, cancel := context.WithTimeout(t.Context(), test.context)
					defer cancel()
					req = req.WithContext(ctx)
				}
				resp, err := tr.RoundTrip(req)
				if took := time.Since(start); err != nil || resp.StatusCode != http.StatusNotFound || took != test.want {
					t.Fatalf("%v, %v after %v, want it after %v", resp, err, took, test.want)
				}
				got, err := io.ReadAll(resp.Body)
				if string(got) != "{"+test.rest || (err == nil) != (test.rest != "") {
					t.Errorf("read %q, %v", got, err)
				}
				resp.Body.Close()
				if !lab.Free(t, tr, "a.example") {
					t.Error("it still counts as in flight")
				}
			})
		})
	}
}

// A request that waits to be sent again holds no connection which the request that it waits for
// needs, whatever its answer is like.
func TestKeptBodyHoldsNoConnection(t *testing.T) {
	for name, long := range map[string]int{"short": 10, "longer": 60_000, "longer than what is kept": 200_000} {
		for i := range 4 {
			chunked, quotas := i%2 == 1, pacer.Table(nil)
			if i >= 2 {
				quotas = lab.All(lab.InFlight(1))
			}
			t.Run(name, func(t *testing.T) {
				lab.Protocols(t, func(t *testing.T, two bool) {
					t.Helper()
					base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path == "/good" {
							return
						}
						w.WriteHeader(http.StatusServiceUnavailable)
						if chunked {
							http.NewResponseController(w).Flush()
						}
						io.WriteString(w, strings.Repeat("x", long))
					})
					base.MaxConnsPerHost = 1
					tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}, Quotas: quotas}
					var wg sync.WaitGroup
					start := time.Now()
					wg.Go(func() { hit(t, tr, 1, "http://a.example/bad") })
					time.Sleep(time.Second / 2) // it is in its backoff
					hit(t, tr, 1, "http://a.example/good")
					if took := time.Since(start); took != time.Second/2 {
						t.Errorf("the other went after %v, want 500ms", took)
					}
					wg.Wait()
					if took := time.Since(start); took != 3*time.Second {
						t.Errorf("the failing one took %v, want 3s", took)
					}
				})
			})
		}
	}
}

// The same holds for an answer that stalls, after a second; and the answer is returned if the request is not
// sent again, with what was read of it.
func TestKeptBodyThatStallsHoldsNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.Serve(t, false, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/good" {
				time.Sleep(time.Minute)
				return
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "busy")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		base.MaxConnsPerHost = 1
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}, Quotas: lab.All(lab.InFlight(1)), MaxWait: 10 * time.Second}
		var wg sync.WaitGroup
		start := time.Now()
		wg.Go(func() {
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/bad", ""))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if took := time.Since(start); resp.StatusCode != http.StatusServiceUnavailable || string(text) != "busy" || !errors.Is(err, io.ErrUnexpectedEOF) || took != 11*time.Second {
				t.Errorf("status %d, %q, %v, after %v; want 503, what was read of it, and an error, after 11s", resp.StatusCode, text, err, took)
			}
		})
		time.Sleep(time.Second / 2)
		hit(t, tr, 1, "http://a.example/good")
		if took := time.Since(start); took != time.Second+time.Minute {
			t.Errorf("the other was answered after %v, want 1m1s: it waits for the connection for half a second", took)
		}
		wg.Wait()
	})
}

// A request that has failed while its caller still writes its body goes again after its backoff, with all of
// the body, and not when the caller has written more: over HTTP/2, Close of the answer's body waits for the
// Read of the request's, and BufferBody leaves that Read to the next attempt.
func TestFailedWhileItsBodyIsWritten(t *testing.T) {
	for _, text := range []string{"", "why", strings.Repeat("x", 60_000)} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			start := time.Now()
			base := lab.Serve(t, true, func(w http.ResponseWriter, r *http.Request) {
				if got = append(got, time.Since(start).String()); len(got) == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
					io.WriteString(w, text)
					return
				}
				b, err := io.ReadAll(r.Body)
				got = append(got, fmt.Sprintf("%s, %v", b, err))
			})
			pr, pw := io.Pipe()
			time.AfterFunc(time.Hour, func() { io.WriteString(pw, "text"); pw.Close() })
			req := lab.Request(t, "PUT", "http://a.example/", "")
			req.Body, req.ContentLength = pr, -1
			resp, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, BufferBody: 100}}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			synctest.Wait()
			want := []string{"0s", "1s", "text, <nil>"}
			if late := (time.Second + drainTime).String(); text != "" && len(got) > 1 && got[1] == late {
				want[1] = late // whether the end of the answer is seen at once, or not at all, is for the scheduler to say
			}
			if !slices.Equal(got, want) {
				t.Errorf("failed with %.3q, the server sees %q, want %q", text, got, want)
			}
			if _, err := pw.Write(nil); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the caller's body is not closed: %v", err)
			}
		})
	}
}

// A body with trailers is sent once: their values come while it is read, and are not known to a
// copy that was made before.
func TestTrailersAreSentOnce(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		var got []string
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			if len(got) == 0 {
				got = append(got, "refused unread")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			io.Copy(io.Discard, r.Body)
			got = append(got, "sum "+r.Trailer.Get("Sum"))
		})
		req := lab.Request(t, "PUT", "http://a.example/", "")
		trailer := http.Header{"Sum": nil}
		req.ContentLength, req.Trailer = -1, trailer
		req.GetBody = func() (io.ReadCloser, error) {
			return &lab.Body{Reader: io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), atEnd(func() { trailer.Set("Sum", "late") }))}, nil
		}
		req.Body, _ = req.GetBody()
		resp, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for _, s := range got[1:] {
			if s != "sum late" {
				t.Errorf("the server sees %q", got)
			}
		}
	})
}

// A body can be closed while another goroutine reads it, as those of net/http: run with -race.
func TestReadBodyClosedWhileRead(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			replies(404, "{}", "Content-Type", "application/json")(w, r)
			http.NewResponseController(w).Flush()
			time.Sleep(2 * drainTime)
			io.WriteString(w, "  ")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		resp, err := (&pacer.Transport{Base: base, Learn: pacer.Learn{Bodies: pacer.ErrorBodies}}).RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { resp.Body.Close() })
		if b, err := io.ReadAll(resp.Body); string(b) != "{}  " || err == nil {
			t.Errorf("read %q, %v", b, err)
		}
	})
}

// A Fallback is held to the contract as Base is.
func TestContractBadFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := lab.NewBody("lost")
		for name, bad := range map[string]lab.RoundTripper{
			"neither": func(*http.Request) (*http.Response, error) { return nil, nil },
			"both": func(r *http.Request) (*http.Response, error) {
				resp := lab.Answer(r, 200, "")
				resp.Body = b
				return resp, lab.ErrBroken
			},
		} {
			tr := &pacer.Transport{Base: lab.OK(), Mode: pacer.ModeDegrade, Quotas: lab.All(lab.Budget(1)), Fallback: lab.Fallback(bad)}
			hit(t, tr, 1, "http://a.example/")
			if resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); resp != nil || err == nil {
				t.Errorf("%s: got %v, %v", name, resp, err)
			}
		}
		if !b.Closed() {
			t.Error("the body of a response beside an error is not closed")
		}
	})
}

// What panics between the grant of another attempt and its sending loses no slot.
func TestInFlightPanicBeforeAnotherAttempt(t *testing.T) {
	for name, prepare := range map[string]func(tr *pacer.Transport, req *http.Request){
		"GetBody": func(_ *pacer.Transport, req *http.Request) {
			req.GetBody = func() (io.ReadCloser, error) { panic("oops") }
		},
		"PrepareRetry": func(tr *pacer.Transport, _ *http.Request) {
			tr.Retry.PrepareRetry = func(*http.Request) error { panic("oops") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(503, "")}}, Retry: pacer.Retry{Backoff: lab.Steady{}}, Quotas: lab.All(lab.InFlight(1))}
				req := lab.Request(t, "PUT", "http://a.example/", "text")
				prepare(tr, req)
				func() {
					defer func() {
						if got := recover(); got != "oops" {
							t.Errorf("recovered %v", got)
						}
					}()
					tr.RoundTrip(req)
				}()
				if s := lab.State(t, tr, "a.example"); !lab.Free(t, tr, "a.example") || s.InFlight != 0 {
					t.Errorf("state %+v", s)
				}
			})
		})
	}
}
