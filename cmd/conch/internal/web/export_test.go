package web

// Routes lists what is served, as "METHOD /path".
func (s *Site) Routes() (all []string) {
	for _, rt := range s.routes() {
		all = append(all, rt.method+" "+rt.path)
	}
	return all
}

// Document is openapi.yaml as it is served.
func Document() []byte { return openAPI }
