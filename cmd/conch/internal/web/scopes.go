package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/conchhq/conch/election"
)

// getScopes lists the scopes in the database and those that have a role here.
func (s *Site) getScopes(w http.ResponseWriter, r *http.Request) error {
	switch view := r.URL.Query().Get("view"); {
	case view == "dense":
		return s.getRows(w, r)
	case view != "" && view != "full":
		return Failf(http.StatusBadRequest, "view = %q is neither full nor dense", view).Wrong("view")
	}
	for _, name := range []string{"state", "q", "after", "limit"} {
		if r.URL.Query().Has(name) {
			return Failf(http.StatusBadRequest, "%s selects rows of view=dense: add that, or leave it out", name).Wrong(name)
		}
	}
	read, err := s.reader.leaderships(r.Context(), "")
	if err != nil {
		return err
	}
	list := struct {
		asOf
		Scopes []scopeView `json:"scopes"`
	}{asOf: read.asOf(), Scopes: []scopeView{}}
	there := map[string]bool{}
	for _, l := range read.leaderships {
		there[l.Scope] = true
		list.Scopes = append(list.Scopes, s.view(l.Scope, &l, read))
	}
	for _, scope := range s.cfg.Electors.Scopes() {
		if !there[scope] {
			list.Scopes = append(list.Scopes, s.view(scope, nil, read))
		}
	}
	slices.SortFunc(list.Scopes, func(a, b scopeView) int { return strings.Compare(a.Scope, b.Scope) })
	return Answer(w, http.StatusOK, list)
}

func (s *Site) getScope(w http.ResponseWriter, r *http.Request) error {
	return s.oneScope(w, r, r.PathValue("scope"))
}

// getNamedScope has the name in the query: proxies decode what stands in a path.
func (s *Site) getNamedScope(w http.ResponseWriter, r *http.Request) error {
	return s.oneScope(w, r, r.URL.Query().Get("scope"))
}

func (s *Site) oneScope(w http.ResponseWriter, r *http.Request, scope string) error {
	if err := election.ValidScope(scope); err != nil {
		return Failf(http.StatusBadRequest, "%v", err).Wrong("scope")
	}
	read, err := s.reader.leaderships(r.Context(), scope)
	if err != nil {
		return err
	}
	one := struct {
		asOf
		scopeView
	}{asOf: read.asOf()}
	switch {
	case len(read.leaderships) == 1:
		one.scopeView = s.view(scope, &read.leaderships[0], read)
	case s.cfg.Electors.Gate(scope) != nil:
		one.scopeView = s.view(scope, nil, read)
	default:
		return unknownScope(scope)
	}
	return Answer(w, http.StatusOK, one)
}
