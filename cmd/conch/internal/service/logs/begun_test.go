package logs

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
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
	g := txlog.Genesis{Namespace: "flags", Machine: kv.Machine, Members: []txlog.Member{{Name: "n1", Store: 1}, {Name: "n2", Store: 2}}}.With()
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

// Exactly so many goals are taken for later as there is room for, and what is not taken is refused at once. One for which the log has no room
// yet is asked for again; one that nobody executes is given up after its time, and is said to be. Each leaves its room to another one.
func TestRoomForGoalsOfLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said nodetest.Log
		var busy sync.WaitGroup
		r := &part{over: t.Context(), spawn: busy.Go, log: slog.New(slog.NewTextHandler(&said, nil))}
		var done, tries atomic.Int64
		take := func(id string) int {
			t.Helper()
			w, first := httptest.NewRecorder(), true
			err := later(w, r, Taken{GoalID: id}, func(ctx context.Context) (txlog.Answer, error) {
				if tries.Add(1); first {
					first = false
					return txlog.Answer{}, txlog.ErrTooMany
				}
				if id == "never" {
					<-ctx.Done()
					return txlog.Answer{}, txlog.ErrUnknown
				}
				done.Add(1)
				return txlog.Answer{}, nil
			})
			if err != nil {
				return web.ProblemOf(t.Context(), err).Status
			}
			return w.Code
		}
		for i := range mostLater - 1 {
			if code := take("soon"); code != http.StatusAccepted {
				t.Fatalf("goal %d: %d", i, code)
			}
		}
		if last, more := take("never"), take("more"); last != http.StatusAccepted || more != http.StatusTooManyRequests {
			t.Errorf("the last one: %d; one more: %d", last, more)
		}
		time.Sleep(2 * roomEvery) // of the bubble
		synctest.Wait()
		if n := done.Load(); n != mostLater-1 || tries.Load() != 2*mostLater || r.later.Load() != 1 {
			t.Errorf("%d are executed, by %d tries, and %d wait", n, tries.Load(), r.later.Load())
		}
		if code := take("soon"); code != http.StatusAccepted {
			t.Errorf("after that: %d", code)
		}
		began := time.Now()
		busy.Wait()
		if took := time.Since(began); took > laterPatience || r.later.Load() != 0 {
			t.Errorf("after %v %d wait", took, r.later.Load())
		}
		if text := strings.Join(said.Lines(), "\n"); strings.Count(text, "has no result") != 1 || !strings.Contains(text, "never") {
			t.Errorf("the log says %s", text)
		}
	})
}

// The machine of a node that makes a log is suspended after the members have promised their stores, for longer than they have. They may have
// begun with another node's log since: this node does not begin with its own, of which it would be the only member.
func TestAPromiseHasEnded(t *testing.T) {
	t.Parallel()
	for what, until := range map[string]time.Duration{"in time": time.Minute, "too late": -time.Millisecond} {
		r := &part{self: "n1", over: t.Context(), promise: promise{"n1", boottime() + until}, begin: make(chan txlog.Genesis, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := r.spread(ctx, txlog.Genesis{}, order{})
		if begins := len(r.begin) == 1; begins != (until > 0) || errors.Is(err, errNotMade) == begins {
			t.Errorf("%s: it begins %v, %v", what, begins, err)
		}
	}
}
