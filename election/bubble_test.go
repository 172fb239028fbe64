package election_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/fence"
)

// pass lets the virtual time of a bubble pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// bench is a bubble with one mint and its electors.
type bench struct {
	*testing.T
	mint  *electiontest.Memory
	clock fence.Clock
	log   *logbook
	mu    sync.Mutex
	facts map[string][]election.Fact // by elector ID
}

func bubble(t *testing.T, f func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, &bench{T: t, mint: electiontest.NewMemory(), clock: bubbleClock(), log: &logbook{}, facts: map[string][]election.Fact{}})
	})
}

// run starts an elector with one role, in the scope "s" unless the role names another.
func (b *bench) run(id string, role election.Role, change ...func(*election.Config)) (*election.Elector, func() error) {
	b.Helper()
	if role.Scope == "" {
		role.Scope = "s"
	}
	cfg := election.Config{
		Mint: b.mint, ID: id, Roles: []election.Role{role}, Clock: b.clock,
		Logger: slog.New(slog.NewTextHandler(b.log, nil)),
		Events: election.Events{Fact: func(f election.Fact) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.facts[id] = append(b.facts[id], f)
		}},
	}
	for _, c := range change {
		c(&cfg)
	}
	return start(b.T, cfg)
}

// kinds returns the kinds of the facts that an elector reported, without Following.
func (b *bench) kinds(id string) (all []election.Kind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.facts[id] {
		if f.Kind != election.Following {
			all = append(all, f.Kind)
		}
	}
	return all
}

// told returns the first fact of a kind that an elector reported.
func (b *bench) told(id string, k election.Kind) (election.Fact, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.facts[id], func(f election.Fact) bool { return f.Kind == k })
	if i < 0 {
		return election.Fact{}, false
	}
	return b.facts[id][i], true
}

// leads waits until the elector's act door is open, and returns how long it took.
func (b *bench) leads(e *election.Elector, limit time.Duration) (fence.Token, time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), limit)
	defer cancel()
	before := time.Now()
	t, err := e.Gate("s").Wait(ctx, fence.Act)
	if err != nil {
		b.Fatalf("%s does not lead after %s: %v", e.ID(), limit, err)
	}
	took := time.Since(before)
	synctest.Wait() // the role has begun and the facts are reported
	return t, took
}

func (b *bench) ends(stop func() error) {
	b.Helper()
	if err := stop(); err != nil {
		b.Error(err)
	}
}

// untilTold is a role that returns when its context ends.
func untilTold(ctx context.Context, _ election.Leadership) error {
	<-ctx.Done()
	return nil
}

// logbook collects log lines.
type logbook struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// line returns the first line that contains all the words.
func (l *logbook) line(words ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.String()) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return line
		}
	}
	return ""
}
