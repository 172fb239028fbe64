package sequencer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ledger/ledgertest"
	"github.com/conchhq/conch/sequencer/wire"
)

// moody is a ledger and a store that fail when the test says so.
type moody struct {
	Ledger
	Store
	err error
}

func (m *moody) Nudge(context.Context) error { return m.err }

func (m *moody) Attempts(context.Context, string, []ledger.Hash) ([]wire.Whole, error) {
	return nil, m.err
}

// What fails again and again is told once when it begins and once when it is over. A stop is no trouble, and neither is an
// empty transaction that something else stands for.
func TestATroubleIsOneLine(t *testing.T) {
	t.Parallel()
	declared := ledger.Contract{
		Chain: 1, Address: "k", Members: []ledger.Account{"alice", "bob"}, Committee: []ledger.Account{"alice"}, Needed: 1, Range: 10, Depth: 3, Life: 6, Domain: "d",
	}
	for what, one := range map[string]struct {
		do           func(*contract)
		fails, again string
	}{
		"nudges": {(*contract).nudge, "an empty transaction was not taken", "empty transactions are taken again"},
		"contents": {func(c *contract) {
			c.serve("bob", wire.Message{Request: wire.RequestID{Incarnation: wire.Incarnation{7}, Number: 1}}, wire.AskAttempts{Assembled: []ledger.Hash{{1}}})
		}, "attempts cannot be read", "attempts can be read again"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			known, err := book.New(book.Config{Contract: declared, Scheme: ledgertest.Fake{}, Rules: labelled{}})
			if err != nil {
				t.Fatal(err)
			}
			log, m := &bytes.Buffer{}, &moody{}
			n := &Node{
				cfg: Config{Store: m, Log: slog.New(slog.NewTextHandler(log, nil))}, ctx: ctx, tasks: make(chan func(), 1), serving: map[ledger.Account]int{},
			}
			c := &contract{n: n, place: &place{}, set: &Contract{Declared: declared, Ledger: m}, book: known}
			away := errors.New("it is away")
			for i, step := range []struct {
				err          error
				fails, again int // lines so far
			}{{nil, 0, 0}, {away, 1, 0}, {away, 1, 0}, {nil, 1, 1}, {nil, 1, 1}, {away, 2, 1}} {
				m.err = step.err
				one.do(c)
				(<-n.tasks)()
				n.group.Wait()
				if fails, again := strings.Count(log.String(), one.fails), strings.Count(log.String(), one.again); fails != step.fails || again != step.again {
					t.Fatalf("after step %d it has failed in %d lines and works again in %d, want %d and %d: %s", i, fails, again, step.fails, step.again, log)
				}
			}
			log.Reset()
			c.still, c.unread, m.err = spell{}, spell{}, ledger.ErrUnderWay
			c.nudge()
			if n.group.Wait(); len(n.tasks) > 0 || log.Len() > 0 {
				t.Errorf("while something is under way the log says %s", log)
			}
			stop()
			m.err = context.Canceled
			one.do(c)
			n.group.Wait()
			for len(n.tasks) > 0 {
				(<-n.tasks)()
			}
			if log.Len() > 0 {
				t.Errorf("at the end the log says %s", log)
			}
		})
	}
}
