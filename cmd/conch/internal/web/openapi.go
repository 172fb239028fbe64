package web

import (
	_ "embed"
	"net/http"
	"strings"
)

//go:embed openapi.yaml
var openAPI string

// Document returns openapi.yaml with the parts of services. A part has sections, each below a
// line "# in NAME". A section replaces the line "# NAME of services" in openapi.yaml and must
// be indented to fit there.
func Document(parts ...string) []byte {
	var doc strings.Builder
	for line := range strings.Lines(openAPI) {
		comment, commented := strings.CutPrefix(strings.TrimLeft(line, " "), "# ")
		name, named := strings.CutSuffix(comment, " of services\n")
		if !commented || !named {
			doc.WriteString(line)
			continue
		}
		for _, part := range parts {
			doc.WriteString(sectionOf(part, name))
		}
	}
	return []byte(doc.String())
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
