package goals

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/internal/pause"
)

// Config describes a load.
type Config struct {
	Namespace string
	Counter   Counter
	Start     time.Time     // when the experiment began
	Clients   int           // each asks for one goal after the other
	Pace      time.Duration // of a client, from one answer to its next goal
}

const askAgain = 20 * time.Millisecond

// Load is clients and a reader at work. Its methods may be called by any goroutine.
type Load struct {
	cfg    Config
	asking context.Context // ends when no more goals are asked for
	stop   context.CancelFunc
	trying context.Context // ends when nothing is waited for any more
	giveUp context.CancelFunc

	clients sync.WaitGroup
	reader  sync.WaitGroup

	mu     sync.Mutex
	nodes  []*node
	record Record
}

// Begin begins to load a log that is there.
func Begin(cfg Config) *Load {
	l := &Load{cfg: cfg}
	l.trying, l.giveUp = context.WithCancel(context.Background())
	l.asking, l.stop = context.WithCancel(l.trying)
	return l
}

// Run starts the clients and the reader, which ask the nodes that were added.
func (l *Load) Run() {
	for n := range l.cfg.Clients {
		l.clients.Go(func() { l.ask(n) })
	}
	l.reader.Go(l.read)
}

// Add adds a node, by the Unix socket of its API.
func (l *Load) Add(name, socket string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes = append(l.nodes, newNode(name, socket))
}

// Finish asks for no more goals, and waits until those that were asked for are answered and read, or ctx ends.
func (l *Load) Finish(ctx context.Context) {
	l.stop()
	over := make(chan struct{})
	go func() { l.clients.Wait(); close(over) }()
	select {
	case <-over:
	case <-ctx.Done():
		return
	}
	for l.unread() && ctx.Err() == nil {
		_ = pause.For(ctx, askAgain)
	}
}

// Count asks a node for a fresh read of the counter until it answers, or ctx ends. A copy that has not heard of the last entries asks
// for them then.
func (l *Load) Count(ctx context.Context, name string) error {
	n := l.named(name)
	for {
		value, err := n.counter(ctx, l.cfg)
		if err == nil {
			l.Note(func(r *Record) { r.Counts = append(r.Counts, Count{name, value}) })
			return nil
		}
		if pause.For(ctx, askAgain) != nil {
			return fmt.Errorf("%s answers no fresh read: %w", name, err)
		}
	}
}

// unread reports whether something was acknowledged that is not read yet.
func (l *Load) unread() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := uint64(0)
	for _, g := range l.record.Goals {
		for _, a := range g.Answers {
			last = max(last, a.Index)
		}
	}
	return l.record.read() < last
}

// Close ends everything, and returns what was seen.
func (l *Load) Close() Record {
	l.giveUp()
	l.clients.Wait()
	l.reader.Wait()
	for _, n := range l.nodes {
		n.Close()
	}
	return l.record
}

// Note has what somebody else has seen noted.
func (l *Load) Note(what func(*Record)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what(&l.record)
}

// Now is how things are.
type Now struct {
	Answered, Waiting int // goals
	Newest            Entry
}

// Now returns how things are.
func (l *Load) Now() (n Now) {
	l.Note(func(r *Record) {
		for _, g := range r.Goals {
			if len(g.Answers) > 0 {
				n.Answered++
			}
		}
		n.Waiting = len(r.Goals) - n.Answered
		if len(r.Entries) > 0 {
			n.Newest = r.Entries[len(r.Entries)-1]
		}
	})
	return n
}

// at returns the nth node, round and round.
func (l *Load) at(n int) *node {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes[n%len(l.nodes)]
}

// since returns the time since the experiment began.
func (l *Load) since() time.Duration { return time.Since(l.cfg.Start) }

// ask is one client.
func (l *Load) ask(n int) {
	for ; pause.For(l.asking, l.cfg.Pace) == nil; n += l.cfg.Clients {
		l.goal(n)
	}
}

// goal asks for the nth goal until a node has answered, or two nodes if the client doubts.
func (l *Load) goal(n int) {
	var goal asked
	at := 0
	l.Note(func(r *Record) {
		goal = asked{GoalID: fmt.Sprintf("demo-%d", n), Goal: l.cfg.Counter.Goal, Since: r.read()}
		at = len(r.Goals)
		r.Goals = append(r.Goals, Goal{ID: goal.GoalID, At: l.since()})
	})
	nodeapi.Insist(l.trying, n, func(ctx context.Context, try int) (done, final bool) { return l.submit(ctx, at, l.at(n+try), goal) })
}

// submit asks one node, and notes what it says.
func (l *Load) submit(ctx context.Context, at int, n *node, goal asked) (done, final bool) {
	answer, err := n.submit(ctx, l.cfg.Namespace, goal)
	no, refused := errors.AsType[*nodeapi.RefusedError](err)
	final = refused && no.Status != http.StatusTooManyRequests
	now := l.since()
	l.Note(func(r *Record) {
		g := &r.Goals[at]
		switch {
		case final:
			g.Refused = fmt.Sprintf("%s: %v", n.name, no)
		case err == nil:
			answer.From, answer.At = n.name, now
			g.Answers = append(g.Answers, answer)
		}
	})
	return err == nil, final
}

// Again is Record.Again, by now.
func (l *Load) Again(at time.Duration) (took time.Duration, is bool) {
	l.Note(func(r *Record) { took, is = r.Again(at) })
	return took, is
}

// named returns a node.
func (l *Load) named(name string) *node {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.nodes, func(n *node) bool { return n.name == name })
	if i < 0 {
		return nil
	}
	return l.nodes[i]
}
