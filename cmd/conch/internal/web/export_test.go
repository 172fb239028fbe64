package web

// Routes lists what a site serves by itself, as "METHOD /path".
func (s *Site) Routes() (all []string) {
	for _, rt := range s.routes() {
		all = append(all, rt.Method+" "+rt.Path)
	}
	return all
}
