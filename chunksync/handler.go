package chunksync

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/conchhq/conch/fence"
)

// Handler serves the requests of peers: POST /promise, GET and POST /catalog, GET and PUT
// /chunks/{hash}. It must be reachable at this node's URL in the peers' Config.Peers. An
// authorized client can write. Errors are RFC 9457 problem documents; 409 means that the
// requesting leader is deposed. The server must limit the duration of a request.
func (m *Manager) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"POST /promise":      m.servePromise,
		"GET /catalog":       m.serveCatalog,
		"POST /catalog":      m.serveOffer,
		"GET /chunks/{hash}": m.serveChunk,
		"PUT /chunks/{hash}": m.serveReceive,
		"/": func(http.ResponseWriter, *http.Request) error {
			return &requestError{http.StatusNotFound, "no such route for peers"}
		},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := m.admit(r); err != nil {
				refuse(w, err)
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, limitOf(r))
			if err := serve(w, r); err != nil {
				refuse(w, err)
			}
		})
	}
	return mux
}

func refuse(w http.ResponseWriter, err error) {
	p := problemOf(err)
	answer(w, problemType, p.Status, p)
}

// admit checks the token. It compares hashes, so that the time does not depend on the length.
func (m *Manager) admit(r *http.Request) error {
	if m.cfg.Accept != nil {
		if m.cfg.Accept(r) {
			return nil
		}
		return &requestError{http.StatusUnauthorized, "the client is not authorized"}
	}
	secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got, want := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(m.cfg.Token))
	if m.cfg.Token != "" && subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return &requestError{http.StatusUnauthorized, "the token is missing or unknown"}
	}
	return nil
}

func (m *Manager) servePromise(w http.ResponseWriter, r *http.Request) error {
	var req promiseJSON
	if err := read(r, &req); err != nil {
		return err
	}
	if len(req.Holder) > maxHolder {
		return badRequest("the holder's name has more than %d bytes", maxHolder)
	}
	p, err := m.cfg.Store.raise(req.Tenure, req.Holder)
	if err != nil {
		return m.reject(req.Holder, err)
	}
	m.promisedTo(req.Tenure)
	answer(w, "application/json", http.StatusOK, heldAnswer{ID: m.cfg.ID, Held: p.Held, Damaged: !m.cfg.Store.whole()})
	return nil
}

func (m *Manager) serveOffer(w http.ResponseWriter, r *http.Request) error {
	var req offerRequest
	if err := read(r, &req); err != nil {
		return err
	}
	take, tenure, err := m.cfg.Store.offerOf(req)
	if err != nil {
		return badRequest("%v", err)
	}
	if len(req.Holder) > maxHolder {
		return badRequest("the holder's name has more than %d bytes", maxHolder)
	}
	before := m.cfg.Store.promised().Held
	missing, held, err := take(req.Holder, false)
	if err != nil {
		return m.reject(req.Holder, err)
	}
	m.promisedTo(tenure)
	if held.Compare(before) > 0 {
		m.cfg.Events.followed(req.Holder, held)
	}
	answer(w, "application/json", http.StatusOK, heldAnswer{ID: m.cfg.ID, Held: held, Missing: missing})
	return nil
}

// offerOf returns how to take what is offered, and whose it is.
func (s *Store) offerOf(req offerRequest) (take func(holder string, partial bool) ([]Hash, Version, error), t Tenure, err error) {
	if req.Change == nil {
		c, err := parseCatalog(req.Catalog)
		return func(holder string, partial bool) ([]Hash, Version, error) { return s.take(c, holder, partial) }, c.Tenure, err
	}
	by, err := parseChange(req.Change)
	return func(holder string, partial bool) ([]Hash, Version, error) { return s.follow(by, holder, partial) }, by.Tenure, err
}

func (m *Manager) serveReceive(w http.ResponseWriter, r *http.Request) error {
	h, err := parseHash(r.PathValue("hash"))
	if err != nil {
		return badRequest("%v", err)
	}
	epoch, err := strconv.ParseInt(r.Header.Get(epochHeader), 10, 64)
	if err != nil {
		return badRequest("%s is not a number", epochHeader)
	}
	term, err := fence.ParseTerm(r.Header.Get(termHeader))
	if err != nil {
		return badRequest("%s: %v", termHeader, err)
	}
	// Refuse a deposed leader before reading its chunk.
	tenure := Tenure{Epoch: epoch, Term: term}
	p := m.cfg.Store.promised()
	if _, err := p.raise(tenure, ""); err != nil {
		return m.reject("", err)
	}
	if err := m.cfg.Store.receive(tenure, h, r.Body); err != nil {
		return m.reject("", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (m *Manager) serveCatalog(w http.ResponseWriter, _ *http.Request) error {
	c, _ := m.cfg.Store.latest()
	text, err := c.encode()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client notices a truncated answer
	return nil
}

func (m *Manager) serveChunk(w http.ResponseWriter, r *http.Request) error {
	h, err := parseHash(r.PathValue("hash"))
	if err != nil {
		return badRequest("%v", err)
	}
	chunk, err := m.cfg.Store.chunk(h)
	if errors.Is(err, ErrDamaged) {
		return &requestError{http.StatusNotFound, err.Error()}
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(chunk)))
	_, _ = w.Write(chunk) // the client verifies the hash
	return nil
}

// reject reports the refusal of a deposed leader, or trouble, and returns err. It ends this
// node's own leadership if the store has failed.
func (m *Manager) reject(holder string, err error) error {
	if l := m.lead.Load(); l != nil && m.cfg.Store.doubt() != nil {
		l.end(err)
	}
	switch {
	case errors.Is(err, fence.ErrStale):
		m.cfg.Events.rejected(holder, err)
	case problemOf(err).Status >= http.StatusInternalServerError || errors.Is(err, ErrFull):
		m.cfg.Events.trouble("", err)
	}
	return err
}
