package web

import (
	"context"
	"net/http"
	"strings"
)

// Access is the permission that a route needs or a token gives.
type Access uint8

// The permissions.
const (
	ToRead Access = iota
	ToOperate
	freely // needs no token
)

// Handler answers a request, or writes nothing and returns an error. An error that is no
// *[Problem] counts as one of the database.
type Handler func(http.ResponseWriter, *http.Request) error

// Route is a method and a path that a site serves.
type Route struct {
	Method string // empty: all methods
	Path   string // as in patterns of http.ServeMux
	Needs  Access
	Body   int64    // the most bytes that a body may have; 0: 64 KiB, negative: no limit
	Query  []string // the parameters that a request may have; see query.go
	Keyed  bool     // Serve asks Key for the request's key
	Serve  Handler
	ops    bool            // served on the ops listener too
	more   func() []string // parameters that come while the site is made; nil: none
}

// pathLeader is the route for load balancers.
const pathLeader = "/leader/{scope}"

// routes returns the site's own routes. A test compares them with openapi.yaml.
func (s *Site) routes() []Route {
	get := func(path string, h Handler) Route { return Route{Method: http.MethodGet, Path: path, Serve: h} }
	with := func(rt Route, query ...string) Route {
		rt.Query = query
		return rt
	}
	ops := func(path string, h Handler) Route {
		return Route{Method: http.MethodGet, Path: path, ops: true, Serve: h}
	}
	return []Route{
		get("/v1/session", s.getSession),
		get("/v1/overview", s.getOverview),
		with(get("/v1/scopes", s.getScopes), "view", "state", "q", "after", "limit"),
		with(get("/v1/scope", s.getNamedScope), "scope"),
		get("/v1/processes", s.getProcesses),
		{Method: http.MethodPost, Path: "/v1/drain", Needs: ToOperate, Serve: s.postNamedDrain},
		get("/v1/scopes/{scope}", s.getScope),
		with(get("/v1/scopes/{scope}/gate", s.getGate), "door", "for", "promise"),
		{Method: http.MethodPost, Path: "/v1/scopes/{scope}/drain", Needs: ToOperate, Serve: s.postDrain},
		with(get("/v1/history", s.getHistory), "scope", "limit", "from", "to", "before", "holder", "event", "q"),
		{Method: http.MethodGet, Path: "/v1/events", Query: []string{"scope", "live"}, more: s.cfg.Board.names, Serve: s.getEvents},
		get("/v1/openapi.yaml", s.getOpenAPI),
		// GET includes HEAD. Load balancers call these routes, and have no token.
		{Method: http.MethodGet, Path: pathLeader, Needs: freely, ops: true, Serve: s.isLeader},
		{Method: http.MethodOptions, Path: pathLeader, Needs: freely, ops: true, Serve: s.isLeader},
		ops("/healthz", s.getHealth),
		ops("/readyz", s.getReady),
		ops("/metrics", func(w http.ResponseWriter, r *http.Request) error {
			zipWith(s.cfg.Metrics, w, r)
			return nil
		}),
	}
}

// API returns the handler for all routes; see [Tokens].
func (s *Site) API() http.Handler {
	all := append(s.routes(), s.cfg.Routes...)
	return s.guard(s.withPages(s.mux(all, "there is nothing here: GET /v1/openapi.yaml says what there is", s.admit)))
}

// Ops returns the handler for health, readiness, metrics and /leader, which needs no token.
func (s *Site) Ops() http.Handler {
	var some []Route
	for _, rt := range s.routes() {
		if rt.ops {
			some = append(some, rt)
		}
	}
	return s.guard(s.mux(some, "there is nothing here: this address serves /healthz, /readyz, /metrics and /leader/{scope}, the API has another",
		func(*http.Request, Access) (caller, error) { return caller{}, nil }))
}

// admission returns the caller if it is admitted, or else a problem.
type admission func(r *http.Request, needs Access) (caller, error)

func (s *Site) mux(routes []Route, nothing string, admit admission) *http.ServeMux {
	mux := http.NewServeMux()
	allow := map[string][]string{}
	for _, rt := range routes {
		if rt.Method != "" {
			allow[rt.Path] = append(allow[rt.Path], rt.Method)
		}
		mux.HandleFunc(strings.TrimSpace(rt.Method+" "+rt.Path), func(w http.ResponseWriter, r *http.Request) {
			who, err := admit(r, rt.Needs)
			if err == nil && !rt.ops {
				err = s.ofNoOtherSite(r)
			}
			if err == nil {
				err = rt.knows(r)
			}
			if err == nil {
				err = rt.heeds(r)
			}
			if err == nil {
				bound(w, r, rt.Body)
				r = r.WithContext(context.WithValue(withCaller(r.Context(), who), lockedKey{}, s.cfg.Locked))
				err = rt.Serve(w, r)
			}
			if err != nil {
				ProblemOf(r.Context(), err).write(w)
			}
		})
	}
	// The mux's own refusals are plain text, and tell too much to a caller without a token.
	refuse := func(path string, why func(r *http.Request) *Problem) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if _, err := admit(r, ToRead); err != nil {
				ProblemOf(r.Context(), err).write(w)
				return
			}
			why(r).write(w)
		})
	}
	for path, methods := range allow {
		list := strings.Join(methods, ", ")
		if strings.Contains(list, http.MethodGet) {
			list += ", " + http.MethodHead
		}
		refuse(path, func(r *http.Request) *Problem {
			return Failf(http.StatusMethodNotAllowed, "%s is not allowed for %s; these are: %s", r.Method, path, list).with("Allow", list)
		})
	}
	refuse("/", func(*http.Request) *Problem {
		return Failf(http.StatusNotFound, "%s", nothing)
	})
	return mux
}
