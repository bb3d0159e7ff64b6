// Client wraps the transport of an http.Client.
package main

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/gopacer/pacer"
)

func main() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := &http.Client{Transport: &pacer.Transport{}}
	resp, err := client.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println("client:", resp.Status)
}
