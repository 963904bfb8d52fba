package operator

import (
	_ "embed"
	"net/http"
)

// openAPI describes the routes under /api/v1, for programs that make clients of it.
//
//go:embed openapi.json
var openAPI []byte

func describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(openAPI)
}
