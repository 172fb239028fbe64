package logs

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
)

// straight is a line on which what is sent is there at once.
type straight struct {
	transport.Line

	from string
	to   *part
	sent *atomic.Int64
}

func (s straight) Send(_ string, body []byte) error {
	s.sent.Add(1)
	s.to.founded(transport.Envelope{From: s.from, Body: body})
	return nil
}

// maker returns a node that has made a log, how often it has told another one, and what it has logged.
func maker(t *testing.T, other *part) (r *part, sends *atomic.Int64, said *nodetest.Log) {
	t.Helper()
	said, sends = new(nodetest.Log), new(atomic.Int64)
	r = &part{
		Log: Log{Namespace: "flags"}, self: "n1", over: t.Context(), log: slog.New(slog.NewTextHandler(said, nil)), counts: newCounts(),
		asks: map[uint64]chan told{}, line: newLine("log/flags", nil),
	}
	r.line.real = straight{from: "n1", to: other, sent: sends}
	other.line.real = straight{from: "n2", to: r, sent: new(atomic.Int64)}
	return r, sends, said
}

func asked(t *testing.T) *part {
	t.Helper()
	return &part{
		Log: Log{Namespace: "flags"}, self: "n2", neighbours: []string{"n1"}, over: t.Context(), log: slog.New(slog.DiscardHandler), counts: newCounts(),
		begin: make(chan txlog.Genesis, 1), line: newLine("log/flags", nil),
	}
}

func named(nonce byte) txlog.Genesis {
	g := txlog.Genesis{Namespace: "flags", Machine: machineName, Members: []txlog.Member{{Name: "n1", Store: 1}, {Name: "n2", Store: 2}}}.With()
	g.Nonce[0] = nonce
	return g
}

// A member that has another log of that name stays with it: it is told once, and the node's log says so.
func TestAMemberWithAnotherLogIsToldNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		member := asked(t)
		member.believe(named(2))
		r, sends, said := maker(t, member)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if r.tellBegin(ctx, "n2", named(1)); ctx.Err() != nil || sends.Load() != 1 {
			t.Errorf("it is told %d times, for an hour: %v", sends.Load(), ctx.Err() != nil)
		}
		if text := strings.Join(said.Lines(), "\n"); !strings.Contains(text, "another log") || !strings.Contains(text, named(2).ID().String()) {
			t.Errorf("the node's log says %q", text)
		}
	})
}

// A member that does not begin for long is told ever less often, and the node's log says once why; it begins in the end.
func TestAMemberThatDoesNotBeginIsToldLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		member := asked(t)
		r, sends, said := maker(t, member)
		var telling sync.WaitGroup
		telling.Go(func() { r.tellBegin(t.Context(), "n2", named(1)) })
		time.Sleep(time.Hour) // of the bubble
		synctest.Wait()
		if n := sends.Load(); n < 60 || n > 400 {
			t.Errorf("it is told %d times in an hour", n)
		}
		if text := strings.Join(said.Lines(), "\n"); strings.Count(text, "drawn no store") != 1 {
			t.Errorf("the node's log says %q", text)
		}
		member.believe(named(1))
		telling.Wait()
	})
}
