package web

import (
	_ "embed"
	"net/http"
	"regexp"
	"strings"
)

//go:embed openapi.yaml
var openAPI string

// places are where openapi.yaml has room for parts.
var places = map[string]*regexp.Regexp{
	"paths":      regexp.MustCompile(`(?m)^ *# paths of services\n`),
	"parameters": regexp.MustCompile(`(?m)^ *# parameters of services\n`),
	"responses":  regexp.MustCompile(`(?m)^ *# responses of services\n`),
	"schemas":    regexp.MustCompile(`(?m)^ *# schemas of services\n`),
}

// Document is openapi.yaml with the parts of services put in. A part is some YAML with
// lines "# in NAME" between: what follows such a line is put where openapi.yaml says
// "# NAME of services", indented as it is.
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

// sectionOf is what follows one of the lines between, up to the next.
func sectionOf(part, name string) string {
	_, after, _ := strings.Cut(part, "# in "+name+"\n")
	found, _, _ := strings.Cut(after, "# in ")
	return found
}

func (s *Site) getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(s.document) // the caller may have gone
	return nil
}
