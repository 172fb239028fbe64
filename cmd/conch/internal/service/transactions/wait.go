package transactions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
)

const (
	mostWaits   = 1000             // requests of a node that wait for a transaction at a time
	longestWait = 60 * time.Second // of one request
	mostLookups = 16               // of those that wait, how many look at the database at a time
)

var errWaits = fmt.Errorf("%d requests wait for transactions already: ask again in a moment, or without wait", mostWaits)

// The words of until. A transaction that has ended is past all of them.
const (
	untilFinal   = "final"
	untilInBlock = "in_block"
	untilNonce   = "nonce"
	untilAny     = "any"
)

var untils = []string{untilFinal, untilInBlock, untilNonce, untilAny}

// patience is how long a request waits, and for what.
type patience struct {
	wait  time.Duration
	until string
	after uint64 // of any: a version that the caller has
}

// waiter is a request that waits for a transaction.
type waiter struct {
	patience
	id        pending.ID
	token     string        // the caller's; empty: there are none
	woken     chan struct{} // gets an element when the transaction may be as it is waited for
	dismissed chan struct{} // closed when another one got its place
	heard     bool          // the transaction has changed since it was looked at; the lock of news guards it
}

// hear takes an event of the transaction. It needs the lock of news.
func (w *waiter) hear(e pending.Event) {
	w.heard = true
	if w.met(e.Fate != pending.Open, e.Block.Hash != "", e.Index != nil, e.Version) {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}

// met reports whether a transaction is as it is waited for.
func (p patience) met(ended, inBlock, nonce bool, version uint64) bool {
	switch p.until {
	case untilAny:
		return version > p.after
	case untilNonce:
		return ended || nonce
	case untilInBlock:
		return ended || inBlock
	}
	return ended
}

// wait adds a waiter of a token's caller until leave is called. It hears of all changes that are committed from now on.
func (n *news) wait(id pending.ID, token string, p patience) (w *waiter, leave func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.places == 0 && !n.makePlace(token) {
		return nil, nil, web.Failf(http.StatusServiceUnavailable, "%v", errWaits).Named("too-many-waits", "Too many requests wait").RetryAfter(1)
	}
	n.places--
	w = &waiter{patience: p, id: id, token: token, woken: make(chan struct{}, 1), dismissed: make(chan struct{})}
	if n.waiting[id] == nil {
		n.waiting[id] = map[*waiter]struct{}{}
	}
	n.waiting[id][w] = struct{}{}
	n.byToken[token] = append(n.byToken[token], w)
	return w, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.drop(w)
	}, nil
}

// drop frees the place of a waiter, unless another one got it. It needs the lock of news.
func (n *news) drop(w *waiter) {
	at := slices.Index(n.byToken[w.token], w)
	if at < 0 {
		return
	}
	n.places++
	if n.byToken[w.token] = slices.Delete(n.byToken[w.token], at, at+1); len(n.byToken[w.token]) == 0 {
		delete(n.byToken, w.token)
	}
	if delete(n.waiting[w.id], w); len(n.waiting[w.id]) == 0 {
		delete(n.waiting, w.id)
	}
}

// makePlace frees a place for a token that has fewer than another one: of the token with the most, the request that has waited longest is
// answered now. So no token can keep the others from waiting. It needs the lock of news, and all places taken.
func (n *news) makePlace(token string) bool {
	var most []*waiter
	for _, all := range n.byToken {
		if len(all) > len(most) {
			most = all
		}
	}
	if len(most) <= len(n.byToken[token])+1 {
		return false
	}
	close(most[0].dismissed)
	n.drop(most[0])
	return true
}

// looks notes that the transaction is looked at now, and reports whether it had changed.
func (n *news) looks(w *waiter, since *patience) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if changed = w.heard; since != nil {
		w.patience = *since
	}
	w.heard = false
	return changed
}

// asked reads how long a request waits.
func asked(r *http.Request) (p patience, err error) {
	q := r.URL.Query()
	if p.until = q.Get("until"); !q.Has("until") {
		p.until = untilFinal
	}
	if !slices.Contains(untils, p.until) {
		return p, web.Failf(http.StatusBadRequest, "until = %q is none of %v", p.until, untils).Wrong("until")
	}
	if q.Has("wait") {
		if p.wait, err = time.ParseDuration(q.Get("wait")); err != nil || p.wait < 0 || p.wait > longestWait {
			return p, web.Failf(http.StatusBadRequest, "wait = %q is not a duration from 0s to %s, such as 30s", q.Get("wait"), longestWait).Wrong("wait")
		}
	}
	if q.Has("version") {
		if p.after, err = strconv.ParseUint(q.Get("version"), 10, 63); err != nil {
			return p, web.Failf(http.StatusBadRequest, "version = %q is not the version of a transaction", q.Get("version")).Wrong("version")
		}
	}
	return p, nil
}

// dated is a transaction as it was read at an instant.
type dated struct {
	Transaction
	at time.Time
}

// await returns a transaction once it is as a request waits for it, or as it is when its time is over or another one gets its place. While nothing happens to it
// nobody asks the database.
func (a *api) await(w http.ResponseWriter, r *http.Request, p patience) (d dated, err error) {
	id, err := parseID(r.PathValue("id"))
	if err != nil {
		return d, notAccepted(err)
	}
	one, leave, err := a.news.wait(id, web.Token(r.Context()), p)
	if err != nil {
		return d, err
	}
	defer leave()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(p.wait + web.WriteTimeout))
	over := time.NewTimer(p.wait)
	defer over.Stop()
	for first := true; ; first = false {
		a.news.looks(one, nil)
		if d, err = a.lookInTurn(r); err != nil {
			return d, err
		}
		if first && p.until == untilAny && p.after == 0 {
			p.after = d.Version
			a.news.looks(one, &p)
		}
		if p.met(d.Outcome != nil, d.Block != nil, d.Nonce != nil, d.Version) {
			return d, nil
		}
		select {
		case <-one.woken:
			continue
		case <-over.C:
		case <-one.dismissed:
		case <-r.Context().Done():
			return d, context.Cause(r.Context())
		case <-a.over.Done():
			return d, nil
		}
		if a.news.looks(one, nil) {
			return a.lookInTurn(r)
		}
		return d, nil
	}
}

// lookInTurn looks a transaction up for a request that waits: if many look at a time, it waits for its turn.
func (a *api) lookInTurn(r *http.Request) (d dated, err error) {
	ctx, cancel := a.patient(r)
	defer cancel()
	select {
	case a.lookups <- struct{}{}:
		defer func() { <-a.lookups }()
	case <-ctx.Done():
		return d, notAccepted(errBusy)
	}
	d.at = time.Now()
	if d.Transaction, err = a.transactions.get(ctx, r.PathValue("id")); err != nil && !errors.Is(err, context.Canceled) {
		err = notAccepted(err)
	}
	return d, err
}
