package web

import "net/http"

// withPages serves pages to browsers, beside the API. They need no token, and a link on another site may lead to them: there is no
// data in them.
func (s *Site) withPages(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := s.cfg.Pages[r.URL.Path]
		if page == nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
			page = api
		}
		page.ServeHTTP(w, r)
	})
}
