package web

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.yaml
var openAPI []byte

func getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openAPI) // whoever asked has gone
	return nil
}
