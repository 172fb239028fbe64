package pgstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/pgstore"
)

// node is an authority that runs, and a user who keeps what it is told.
type node struct {
	*pgstore.Authority
	t     testing.TB
	ended chan error // of Run
	stop  context.CancelFunc

	mu      sync.Mutex
	facts   []authority.Fact // not taken
	kept    []txlog.Record
	upto    uint64
	trouble []error
	heard   chan struct{}
}

// poll is rare, so that tests show that notifications come; a test that loses them sets another.
const poll = 10 * time.Second

// often is often, for tests of what a read does that nobody has announced.
const often = 20 * time.Millisecond

// follows runs a node that knows so many records, until the test ends or the node is stopped.
func follows(t testing.TB, d *pgstore.Database, every time.Duration, kept ...txlog.Record) *node {
	t.Helper()
	n := &node{t: t, ended: make(chan error, 1), heard: make(chan struct{}, 1), kept: kept, upto: uint64(len(kept))}
	at := genesis.Start()
	if len(kept) > 0 {
		at = kept[len(kept)-1].Position()
	}
	a, err := d.Authority(pgstore.Settings{At: at, Poll: every, Tell: n.tell, Trouble: n.troubles})
	if err != nil {
		t.Fatal(err)
	}
	n.Authority = a
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.ended <- a.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		pgtest.Within(t, patience, "the authority ends", func() { <-ended })
	})
	return n
}

func (n *node) tell(f authority.Fact) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch f := f.(type) {
	case authority.Stored:
		n.kept = append(n.kept, f.Records...)
	case authority.Committed:
		n.upto = f.Index
	}
	n.facts = append(n.facts, f)
	select {
	case n.heard <- struct{}{}:
	default:
	}
}

func (n *node) troubles(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trouble = append(n.trouble, err)
	select {
	case n.heard <- struct{}{}:
	default:
	}
}

// troubled returns the errors of tries that have failed.
func (n *node) troubled() []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]error(nil), n.trouble...)
}

// took returns the facts since it was last called, after a moment.
func (n *node) took() []authority.Fact {
	select {
	case <-n.heard:
	case <-time.After(2 * time.Millisecond):
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	facts := n.facts
	n.facts = nil
	return facts
}

func (n *node) knows() (records []txlog.Record, committed uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]txlog.Record(nil), n.kept...), n.upto
}

// hears waits for a fact, and returns those before it and itself.
func (n *node) hears(what string, is func(authority.Fact) bool) (all []authority.Fact) {
	n.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		for _, f := range n.took() {
			if all = append(all, f); is(f) {
				return all
			}
		}
	}
	n.t.Fatalf("not within %v: %s; told %+v, troubles %v", patience, what, all, n.troubled())
	return nil
}

func (n *node) commits(index uint64) []authority.Fact {
	n.t.Helper()
	return n.hears("the commit", func(f authority.Fact) bool { c, ok := f.(authority.Committed); return ok && c.Index >= index })
}

// leads leads under a token until the returned function is called, and waits until it does.
func (n *node) leads(token fence.Token) (ended <-chan error, yield func()) {
	n.t.Helper()
	ended, yield = n.tries(token)
	n.hears("it leads", func(f authority.Fact) bool { l, ok := f.(authority.Leads); return ok && l.Term == uint64(token.Epoch) })
	return ended, yield
}

func (n *node) tries(token fence.Token) (ended <-chan error, yield func()) {
	ctx, cancel := context.WithCancel(context.Background())
	n.t.Cleanup(cancel)
	answer := make(chan error, 1)
	go func() { answer <- n.Lead(ctx, token) }()
	return answer, cancel
}

// after makes a record that comes after others.
func after(t testing.TB, records []txlog.Record, term int64, e txlog.Entry) txlog.Record {
	t.Helper()
	at := genesis.Start()
	if len(records) > 0 {
		at = records[len(records)-1].Position()
	}
	e.Log, e.Index, e.Prev, e.Term, e.Leader = at.Log, at.Index+1, at.Hash, uint64(term), "me"
	if e.Kind == 0 {
		e.Kind = txlog.Opening
	}
	r, err := txlog.Seal(e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// several makes so many records that follow, of which the first comes after others.
func several(t testing.TB, records []txlog.Record, term int64, n int) (all []txlog.Record) {
	t.Helper()
	for range n {
		r := after(t, records, term, txlog.Entry{Kind: txlog.Scrubbed})
		records, all = []txlog.Record{r}, append(all, r)
	}
	return all
}

func through(url string) pg.Config { return pg.Config{URL: url, AppName: "conch-test"} }
