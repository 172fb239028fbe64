package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// knows refuses a request with a parameter that its route does not have: a misspelt one would otherwise be answered as if it had
// said nothing. Whatever probes and collectors add to their requests outside of /v1 is left alone, and so are routes of all methods,
// which are another program's.
func (rt Route) knows(r *http.Request) error {
	if rt.Method == "" || !strings.HasPrefix(rt.Path, "/v1/") {
		return nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // it would be left out
		return Failf(http.StatusBadRequest, "the query of the URL cannot be read: %v", err).Named("bad-url", "Not readable")
	}
	known := rt.Query
	if rt.more != nil {
		known = slices.Concat(known, rt.more())
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if slices.Contains(known, name) {
			continue
		}
		has := "none"
		if len(known) > 0 {
			has = strings.Join(known, ", ")
		}
		return Failf(http.StatusBadRequest, "%.80q is no parameter of %s %s, which has %s", name, rt.Method, rt.Path, has).Wrong(name)
	}
	return nil
}
