package pacerdebug_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacerdebug"
)

// The page is served on a port of its own, which only this machine reaches:
//
//	go http.ListenAndServe("localhost:6060", mux)
func Example() {
	transport := &pacer.Transport{Trace: pacer.Log(slog.Default())}

	page := &pacerdebug.Page{Transport: transport}
	transport.Trace = pacer.Traces(transport.Trace, page.Trace()) // before the first request
	mux := http.NewServeMux()
	mux.Handle("GET /debug/pacer", page)

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/pacer", http.NoBody))
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
