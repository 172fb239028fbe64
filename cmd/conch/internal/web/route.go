package web

import (
	"net/http"
	"strings"
)

// Access is what a caller must be allowed to do.
type Access uint8

// What there is to be allowed.
const (
	ToRead Access = iota
	ToOperate
	freely // needs no token
)

// Handler answers a request or returns the problem; after an error it has written
// nothing. An error that is no *[Problem] counts as one of the database.
type Handler func(http.ResponseWriter, *http.Request) error

// Route is one thing that a site does.
type Route struct {
	Method string // empty: all of them
	Path   string // in the words of http.ServeMux
	Needs  Access
	Body   int64 // how many bytes a body may have; 0: 64 KiB, less than 0: any number
	Serve  Handler
	ops    bool // on the ops listener too
}

// pathLeader is where routers ask.
const pathLeader = "/leader/{scope}"

// routes are those of the site itself; openapi.yaml says the same in its own words, and
// a test compares the two.
func (s *Site) routes() []Route {
	get := func(path string, h Handler) Route { return Route{Method: http.MethodGet, Path: path, Serve: h} }
	ops := func(path string, h Handler) Route {
		return Route{Method: http.MethodGet, Path: path, ops: true, Serve: h}
	}
	return []Route{
		get("/v1/scopes", s.getScopes),
		get("/v1/scopes/{scope}", s.getScope),
		get("/v1/scopes/{scope}/gate", s.getGate),
		{Method: http.MethodPost, Path: "/v1/scopes/{scope}/drain", Needs: ToOperate, Serve: s.postDrain},
		get("/v1/history", s.getHistory),
		get("/v1/events", s.getEvents),
		get("/v1/openapi.yaml", s.getOpenAPI),
		// HEAD comes with GET. Both are asked by what has no token and cannot be given one.
		{Method: http.MethodGet, Path: pathLeader, Needs: freely, ops: true, Serve: s.isLeader},
		{Method: http.MethodOptions, Path: pathLeader, Needs: freely, ops: true, Serve: s.isLeader},
		ops("/healthz", s.getHealth),
		ops("/readyz", s.getReady),
		ops("/metrics", func(w http.ResponseWriter, r *http.Request) error {
			s.cfg.Metrics.ServeHTTP(w, r)
			return nil
		}),
	}
}

// API serves everything, to whoever has a token.
func (s *Site) API() http.Handler {
	all := append(s.routes(), s.cfg.Routes...)
	return s.guard(s.mux(all, "there is nothing here: GET /v1/openapi.yaml says what there is", s.admit))
}

// Ops serves only what looks after the process: its health, readiness and metrics, and
// whether it leads, to anybody.
func (s *Site) Ops() http.Handler {
	var some []Route
	for _, rt := range s.routes() {
		if rt.ops {
			some = append(some, rt)
		}
	}
	return s.guard(s.mux(some, "there is nothing here: this address serves /healthz, /readyz, /metrics and /leader/{scope}, the API has another",
		func(*http.Request, Access) (string, error) { return "", nil }))
}

// admission says under which name a caller may do something, or why not.
type admission func(r *http.Request, needs Access) (name string, err error)

func (s *Site) mux(routes []Route, nothing string, admit admission) *http.ServeMux {
	mux := http.NewServeMux()
	allow := map[string][]string{}
	for _, rt := range routes {
		if rt.Method != "" {
			allow[rt.Path] = append(allow[rt.Path], rt.Method)
		}
		mux.HandleFunc(strings.TrimSpace(rt.Method+" "+rt.Path), func(w http.ResponseWriter, r *http.Request) {
			name, err := admit(r, rt.Needs)
			if err == nil {
				bound(w, r, rt.Body)
				err = rt.Serve(w, r.WithContext(withActor(r.Context(), name)))
			}
			if err != nil {
				problemOf(err).write(w)
			}
		})
	}
	// The mux's own refusals are plain text; these are problems like all others.
	// A caller without a token learns nothing from them.
	refuse := func(path string, why func(r *http.Request) *Problem) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if _, err := admit(r, ToRead); err != nil {
				problemOf(err).write(w)
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
			return Failf(http.StatusMethodNotAllowed, "%s is not for %s; these are: %s", r.Method, path, list).with("Allow", list)
		})
	}
	refuse("/", func(*http.Request) *Problem {
		return Failf(http.StatusNotFound, "%s", nothing)
	})
	return mux
}
