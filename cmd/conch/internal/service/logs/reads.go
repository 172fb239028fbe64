package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

// Page is entries of a log, in order.
type Page struct {
	AsOf    Place   `json:"as_of"` // the newest entry that is here
	First   uint64  `json:"first"` // the first one that is here
	Entries []Entry `json:"entries"`
}

const (
	usualEntries = 100
	mostEntries  = 1000
	mostPage     = 4 << 20 // bytes of entries
	mostWait     = 10 * time.Second
)

func (a *api) getEntries(w http.ResponseWriter, req *http.Request) error {
	r, err := a.begun(req.PathValue("namespace"))
	if err != nil {
		return err
	}
	q := req.URL.Query()
	from, err := number(q, "from", 1, 1<<62)
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", usualEntries, mostEntries)
	if err != nil {
		return err
	}
	wait, err := number(q, "wait_ms", 0, uint64(mostWait.Milliseconds()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(req.Context(), time.Duration(wait)*time.Millisecond)
	defer cancel()
	for {
		grown := r.growth()
		page, err := r.page(max(from, 1), limit)
		if err != nil {
			return refusal(err)
		}
		if len(page.Entries) > 0 || wait == 0 {
			return web.Answer(w, http.StatusOK, page)
		}
		if !r.grows(ctx, grown) {
			return web.Answer(w, http.StatusOK, page)
		}
	}
}

// grows waits until the copy has grown. It is false if the context ends first, or the node: its end must not wait for its readers.
func (r *part) grows(ctx context.Context, grown <-chan struct{}) bool {
	select {
	case <-grown:
		return true
	case <-ctx.Done():
	case <-r.over.Done():
	}
	return false
}

// page reads entries from the store. Those before the first one that is here are gone.
func (r *part) page(from, limit uint64) (Page, error) {
	s := r.reading()
	if s == nil {
		return Page{}, errNotHere
	}
	view := s.View()
	p := Page{AsOf: placeOf(view.Last), First: view.Floor.Index + 1, Entries: []Entry{}}
	if from == 1 && view.Floor.Index == s.Genesis().Parent.Index {
		from = p.First // of a log that goes on with another one
	}
	if from > view.Last.Index {
		return p, nil
	}
	records, err := s.Records(from, mostPage)
	switch {
	case errors.Is(err, store.ErrGone):
		return Page{}, goneBefore(err, p.First)
	case err != nil:
		return Page{}, err
	}
	for _, rec := range records[:min(uint64(len(records)), limit)] {
		p.Entries = append(p.Entries, r.entryOf(rec))
	}
	return p, nil
}

func goneBefore(err error, first uint64) error {
	return fmt.Errorf("%w: this node has dropped what comes before entry %d. Begin there, or ask another node", err, first)
}

// number reads a number of a query.
func number(q url.Values, name string, usual, most uint64) (uint64, error) {
	text := q.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most {
		return 0, web.Failf(http.StatusBadRequest, "%s = %q is no number from 0 to %d", name, text, most).Wrong(name)
	}
	return n, nil
}

// choice reads 0 or 1 of a query. Any other word is refused: fresh=true would be answered by an old state.
func choice(q url.Values, name, usual string) (string, error) {
	switch text := q.Get(name); text {
	case "":
		return usual, nil
	case "0", "1":
		return text, nil
	default:
		return "", web.Failf(http.StatusBadRequest, "%s = %q is neither 0 nor 1", name, text).Wrong(name)
	}
}

// Read is the answer to a query, and of which entry it is.
type Read struct {
	AsOf   Place `json:"as_of"`
	Fresh  bool  `json:"fresh"`
	Answer Bytes `json:"answer"`
}

// Question is a query as users send it in a body: a URL is too short for a long one.
type Question struct {
	Query json.RawMessage `json:"query"`
	Fresh bool            `json:"fresh,omitempty"`
}

func (a *api) getState(w http.ResponseWriter, req *http.Request) error {
	r, err := a.begun(req.PathValue("namespace"))
	if err != nil {
		return err
	}
	q := req.URL.Query()
	fresh, err := choice(q, "fresh", "0")
	if err != nil {
		return err
	}
	return r.answers(w, req, []byte(q.Get("query")), fresh == "1")
}

func (a *api) postState(w http.ResponseWriter, req *http.Request) error {
	r, err := a.begun(req.PathValue("namespace"))
	if err != nil {
		return err
	}
	var q Question
	if err := web.ReadJSON(req, &q); err != nil {
		return err
	}
	return r.answers(w, req, q.Query, q.Fresh)
}

// answers answers a query from the copy that is here, or a fresh one.
func (r *part) answers(w http.ResponseWriter, req *http.Request, query []byte, fresh bool) error {
	h := r.running()
	if h == nil {
		return refusal(errNotHere)
	}
	if len(query) == 0 {
		return (&web.FieldError{Field: "query", Text: `is missing: such as {"get":"flags/dark"} or {"prefix":"flags/"}`}).Problem(http.StatusUnprocessableEntity)
	}
	ask, ctx := h.Query, req.Context()
	if fresh {
		within, cancel := context.WithTimeout(ctx, goalPatience)
		defer cancel()
		ask, ctx = r.fresh, within
	}
	answer, at, err := ask(ctx, query)
	switch {
	case errors.Is(err, txlog.ErrMalformed):
		return web.Failf(http.StatusBadRequest, "%v", err).Wrong("query")
	case err != nil:
		return refusal(err)
	}
	return web.Answer(w, http.StatusOK, Read{AsOf: placeOf(at), Fresh: fresh, Answer: answer})
}

// fresh answers a query with everything that was acknowledged before, and says as of which entry; without a query it says only that.
func (r *part) fresh(ctx context.Context, query []byte) (answer []byte, at txlog.Position, err error) {
	err = r.insist(ctx, func(h *quorum.Host) (err error) {
		answer, at, err = h.Fresh(ctx, query)
		return err
	})
	return answer, at, err
}
