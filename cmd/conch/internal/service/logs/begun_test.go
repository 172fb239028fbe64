package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pg/pgtest"
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

// A member's store is removed under it, with its whole folder: the member goes on in a file that nobody finds again, and says so, with what
// to do, before its restart does. After the restart that it advises the member is one again.
func TestAStoreThatIsRemovedUnderItsNode(t *testing.T) {
	t.Parallel()
	s := newLog(t, "n1", "n2", "n3")
	n := s.nodes["n2"]
	if err := os.RemoveAll(filepath.Join(n.dir, "logs")); err != nil {
		t.Fatal(err)
	}
	said := func(text string) bool {
		return strings.Contains(text, "was removed while it was in use") && strings.Contains(text, "restart this node")
	}
	pgtest.Eventually(t, nodetest.Patience, "the status says so", func() bool { return said(n.status().Advice) })
	if !slices.ContainsFunc(n.logged.Lines(), said) {
		t.Error("the log of the node does not say so")
	}
	n.put("b", 2) // the log goes on
	n.stop()
	if _, err := os.Stat(filepath.Join(n.dir, "logs", "flags.log")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the store is there: %v", err)
	}
	n.start()
	pgtest.Eventually(t, 2*nodetest.Patience, "n2 is a member again", func() bool {
		now := n.status()
		return now.Decides && now.Advice == ""
	})
	s.equal(s.names...)
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
				return web.ProblemOf(err).Status
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

// A node that has taken goals for which nobody waits, while nobody leads, has all of them executed once somebody does.
func TestGoalsAreTakenForLater(t *testing.T) {
	t.Parallel()
	const goals = 20
	s := newSite(t, "n1", "n2", "n3")
	s.start(s.names...)
	n := s.nodes["n3"]
	n.create("n1", "n2")
	pgtest.Eventually(t, nodetest.Patience, "n3 has the log", func() bool { return n.status().State == stateRunning })
	n.put("before", 1)
	s.nodes["n1"].stop()
	s.nodes["n2"].stop()
	for i := range goals {
		code, text := n.asks(http.MethodPost, "/v1/logs/flags/goals?wait=0", fmt.Sprintf(`{"goal_id":"later %d","goal":{"op":"add","key":"later"}}`, i))
		if code != http.StatusAccepted {
			t.Fatalf("goal %d: %d %s", i, code, text)
		}
	}
	pgtest.Eventually(t, nodetest.Patience, "all wait", func() bool { return n.status().Waiting == goals })
	s.start("n1", "n2")
	counted := ""
	defer func() { t.Log(counted) }()
	pgtest.Eventually(t, 2*nodetest.Patience, "all are executed", func() bool {
		var a struct{ Value int }
		counted = string(gets[Read](n, http.MethodGet, "/v1/logs/flags/state?query=%7B%22get%22:%22later%22%7D", "").Answer)
		return json.Unmarshal([]byte(counted), &a) == nil && a.Value == goals
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
