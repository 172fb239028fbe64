package core

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// What fails again and again is told once when it begins and once when it is over. An empty transaction that something else
// stands for is no trouble.
func TestATroubleIsOneLine(t *testing.T) {
	t.Parallel()
	for what, one := range map[string]struct {
		do           func(d *desk) uint64
		fails, again string
	}{
		"nudges": {func(d *desk) uint64 { d.nudgeChain(); return must[Nudge](d).ID }, "an empty transaction was not taken", "empty transactions are taken again"},
		"contents": {func(d *desk) uint64 {
			d.serveContents("bob", wire.Message{Request: wire.RequestID{Incarnation: wire.Incarnation{7}, Number: 1}}, wire.AskAttempts{Assembled: []ledger.Hash{{1}}})
			return must[ReadAttempts](d).ID
		}, "attempts cannot be read", "attempts can be read again"},
	} {
		d, away := newDesk(t, "alice", declared("alice", "bob")), errors.New("it is away")
		for i, step := range []struct {
			err          error
			fails, again int // lines so far
		}{{nil, 0, 0}, {away, 1, 0}, {away, 1, 0}, {nil, 1, 1}, {nil, 1, 1}, {away, 2, 1}} {
			d.step(Answered{ID: one.do(d), Err: step.err})
			if fails, again := d.lines(one.fails), d.lines(one.again); fails != step.fails || again != step.again {
				t.Fatalf("%s: after step %d it has failed in %d lines and works again in %d, want %d and %d", what, i, fails, again, step.fails, step.again)
			}
		}
	}
	d := newDesk(t, "alice", declared("alice", "bob"))
	d.nudgeChain()
	if d.step(Answered{ID: must[Nudge](d).ID, Err: ledger.ErrUnderWay}); d.lines("") > 0 {
		t.Error("while something is under way the log says that it fails")
	}
}
