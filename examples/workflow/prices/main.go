// Command prices is the web service that the example workflow asks: it knows the
// rates of the day, and nothing of the weather.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8099", "address to listen on")
	flag.Parse()
	http.HandleFunc("GET /rates", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"USD": 1.25, "NOK": 11.5}`)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
