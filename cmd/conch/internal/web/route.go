package web

import (
	"net/http"
	"strings"
)

// access is what a caller must be allowed to do.
type access uint8

const (
	toRead access = iota
	toOperate
	freely // needs no token
)

// handler answers a request or returns the problem; after an error it has
// written nothing.
type handler func(http.ResponseWriter, *http.Request) error

type route struct {
	method string
	path   string
	needs  access
	ops    bool // on the ops listener too
	serve  handler
}

// pathLeader is where routers ask.
const pathLeader = "/leader/{scope}"

// routes is everything there is; openapi.yaml says the same in its own words, and
// a test compares the two.
func (s *Site) routes() []route {
	get := func(path string, h handler) route { return route{method: http.MethodGet, path: path, serve: h} }
	ops := func(path string, h handler) route {
		return route{method: http.MethodGet, path: path, ops: true, serve: h}
	}
	return []route{
		get("/v1/scopes", s.getScopes),
		get("/v1/scopes/{scope}", s.getScope),
		get("/v1/scopes/{scope}/gate", s.getGate),
		{method: http.MethodPost, path: "/v1/scopes/{scope}/drain", needs: toOperate, serve: s.postDrain},
		get("/v1/history", s.getHistory),
		get("/v1/events", s.getEvents),
		{method: http.MethodPost, path: "/v1/transactions", needs: toOperate, serve: s.postTransaction},
		get("/v1/transactions", s.getTransactions),
		get("/v1/transactions/{id}", s.getTransaction),
		{method: http.MethodPost, path: "/v1/transactions/{id}/cancel", needs: toOperate, serve: s.cancelTransaction},
		get("/v1/files/{scope}", s.getCatalog),
		get("/v1/files/{scope}/{name...}", s.getFile),
		{method: http.MethodPut, path: "/v1/files/{scope}/{name...}", needs: toOperate, serve: s.putFile},
		{method: http.MethodDelete, path: "/v1/files/{scope}/{name...}", needs: toOperate, serve: s.deleteFile},
		get("/v1/openapi.yaml", getOpenAPI),
		// HEAD comes with GET. Both are asked by what has no token and cannot be given one.
		{method: http.MethodGet, path: pathLeader, needs: freely, ops: true, serve: s.isLeader},
		{method: http.MethodOptions, path: pathLeader, needs: freely, ops: true, serve: s.isLeader},
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
	mux := s.mux(s.routes(), "there is nothing here: GET /v1/openapi.yaml says what there is", s.admit)
	mux.HandleFunc(pathPeers+"{scope}/{rest...}", s.servePeers)
	return s.guard(mux)
}

// Ops serves only what looks after the process: its health, readiness and metrics, and
// whether it leads, to anybody.
func (s *Site) Ops() http.Handler {
	var some []route
	for _, rt := range s.routes() {
		if rt.ops {
			some = append(some, rt)
		}
	}
	return s.guard(s.mux(some, "there is nothing here: this address serves /healthz, /readyz, /metrics and /leader/{scope}, the API has another",
		func(*http.Request, access) (string, error) { return "", nil }))
}

// admission says under which name a caller may do something, or why not.
type admission func(r *http.Request, needs access) (name string, err error)

func (s *Site) mux(routes []route, nothing string, admit admission) *http.ServeMux {
	mux := http.NewServeMux()
	allow := map[string][]string{}
	for _, rt := range routes {
		allow[rt.path] = append(allow[rt.path], rt.method)
		mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
			name, err := admit(r, rt.needs)
			if err == nil {
				err = rt.serve(w, r.WithContext(withActor(r.Context(), name)))
			}
			if err != nil {
				problemOf(err).write(w)
			}
		})
	}
	// The mux's own refusals are plain text; these are problems like all others.
	// A caller without a token learns nothing from them.
	refuse := func(path string, why func(r *http.Request) *problem) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if _, err := admit(r, toRead); err != nil {
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
		refuse(path, func(r *http.Request) *problem {
			return failf(http.StatusMethodNotAllowed, "%s is not for %s; these are: %s", r.Method, path, list).with("Allow", list)
		})
	}
	refuse("/", func(*http.Request) *problem {
		return failf(http.StatusNotFound, "%s", nothing)
	})
	return mux
}
