package web

import (
	_ "embed"
	"net/http"
	"regexp"
	"strings"
)

//go:embed openapi.yaml
var openAPI string

// places matches the lines of openapi.yaml that parts replace.
var places = map[string]*regexp.Regexp{
	"paths":            regexp.MustCompile(`(?m)^ *# paths of services\n`),
	"event parameters": regexp.MustCompile(`(?m)^ *# event parameters of services\n`),
	"parameters":       regexp.MustCompile(`(?m)^ *# parameters of services\n`),
	"responses":        regexp.MustCompile(`(?m)^ *# responses of services\n`),
	"schemas":          regexp.MustCompile(`(?m)^ *# schemas of services\n`),
}

// Document returns openapi.yaml with the parts of services. A part has sections, each below a
// line "# in NAME". A section replaces the line "# NAME of services" in openapi.yaml and must
// be indented to fit there.
func Document(parts ...string) []byte {
	doc := openAPI
	for name := range places {
		var all strings.Builder
		for _, part := range parts {
			all.WriteString(sectionOf(part, name))
		}
		doc = places[name].ReplaceAllLiteralString(doc, all.String())
	}
	return []byte(doc)
}

// sectionOf returns one section of a part.
func sectionOf(part, name string) string {
	_, after, _ := strings.Cut(part, "# in "+name+"\n")
	found, _, _ := strings.Cut(after, "# in ")
	return found
}

func (s *Site) getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(s.document) // fails if the caller has gone
	return nil
}
