// Traced tells OpenTelemetry what a client does.
package main

import (
	"fmt"
	"log"
	"net/http"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacerotel"
	"github.com/gopacer/pacer/pacertest"
)

func main() {
	telemetry, err := pacerotel.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	var server pacertest.Server
	defer server.Close()
	transport := &pacer.Transport{Base: pacerotel.ResendCount(server.Transport()), Trace: telemetry.Trace()}
	telemetry.Watch(transport)
	resp, err := (&http.Client{Transport: transport}).Get("http://api.example.com/")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println("traced:", resp.Status)
}
