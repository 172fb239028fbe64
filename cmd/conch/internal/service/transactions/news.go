package transactions

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

const (
	newsLook  = 250 * time.Millisecond // how often it is seen that somebody wants news
	newsPoll  = time.Second            // and then, how often they are looked for without a notification
	newsPause = 50 * time.Millisecond  // between two looks: at most twenty statements a second
	newsBatch = 500
)

// news tells what happens to transactions to the event streams of this node and to requests that wait. It reads the events of the
// database while there are any: one connection serves all. It is safe for concurrent use.
type news struct {
	accounts *accounts
	board    *web.Board
	rung     step.Wake
	sees     func(ctx context.Context, token, chain, of string) error // nil or web.ErrHidden

	mu      sync.Mutex
	waiting map[pending.ID]map[*waiter]struct{}
	byToken map[string][]*waiter // in the order in which they came
	places  int                  // of requests that may wait
	heeds   map[*heed]struct{}
}

func newNews(a *accounts, b *web.Board) *news {
	n := &news{accounts: a, board: b, rung: step.NewWake(), waiting: map[pending.ID]map[*waiter]struct{}{}, byToken: map[string][]*waiter{}, places: mostWaits, heeds: map[*heed]struct{}{}}
	if b != nil {
		b.Offer(kindTransaction, n.selects)
	}
	return n
}

// wanted reports whether anybody waits for news.
func (n *news) wanted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.waiting)+len(n.heeds) > 0 || n.board != nil && n.board.Heard(kindTransaction)
}

// follow tells of the events of a database until ctx ends. What it misses while the database is away it tells later.
func (n *news) follow(ctx context.Context, db *pgstore.Database) {
	for pause.For(ctx, newsLook) == nil {
		if !n.wanted() {
			continue
		}
		tail, err := db.TailOfNew(ctx)
		if err != nil {
			continue
		}
		n.gap("this node tells of transactions from now on: their list says how things stand")
		n.tell(ctx, tail)
	}
}

// tell tells of the events of a tail until nobody wants them any more.
func (n *news) tell(ctx context.Context, tail *pgstore.Tail) {
	poll := time.NewTicker(newsPoll)
	defer poll.Stop()
	for old := true; n.wanted(); {
		events, err := tail.Next(ctx, newsBatch)
		for _, e := range events {
			n.pass(e.Chain, e.Event.Event, e.Token, old)
		}
		if err == nil && len(events) >= newsBatch {
			continue // there are more
		}
		old = old && err != nil
		if pause.For(ctx, newsPause) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-n.rung:
		case <-poll.C:
		}
	}
}

// pass tells of an event of an intent that was accepted by a token; one that is old only to requests, which may have begun to wait before it was read.
func (n *news) pass(chainID string, e pending.Event, token string, old bool) {
	n.mu.Lock()
	for w := range n.waiting[e.Intent] {
		w.hear(e)
	}
	for h := range n.heeds {
		if h.of == (accountID{chainID, e.Account}) {
			h.told(e)
		}
	}
	n.mu.Unlock()
	if n.board != nil && !old {
		n.board.Tell(web.Notice{
			Kind: kindTransaction, Subject: n.accounts.nameOf(accountID{chainID, e.Account}), Data: n.show(chainID, e),
			For: func(caller context.Context) error { return n.sees(caller, web.Token(caller), chainID, token) },
		})
	}
}

// heed is somebody in this process who hears of an account's events.
type heed struct {
	of   accountID
	told func(pending.Event)
}

// heed has told called with each event of an account, until leave is called. It must not block, nor ask for news.
func (n *news) heed(of accountID, told func(pending.Event)) (leave func()) {
	h := &heed{of, told}
	n.mu.Lock()
	n.heeds[h] = struct{}{}
	n.mu.Unlock()
	return func() {
		n.mu.Lock()
		delete(n.heeds, h)
		n.mu.Unlock()
	}
}

func (n *news) gap(why string) {
	if n.board != nil {
		n.board.Tell(web.Notice{Kind: kindTransaction, Gap: why})
	}
}
