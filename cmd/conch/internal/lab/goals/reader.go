package goals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/internal/pause"
)

const (
	pageWait = 200 * time.Millisecond // of a node that has nothing new
	pageMost = 2 * time.Second
	lookMost = 2 * time.Second
	lookPace = 50 * time.Millisecond
)

// node is one node, by its API.
type node struct {
	*nodeapi.Node

	name string
}

func newNode(name, socket string) *node {
	return &node{nodeapi.Listening("unix:"+socket, 0, 0), name}
}

func (n *node) ask(ctx context.Context, method, path string, body, out any) error {
	return n.Ask(ctx, method, "/v1/logs"+path, body, out)
}

// asked is a goal as a node takes it.
type asked struct {
	GoalID string          `json:"goal_id"`
	Goal   json.RawMessage `json:"goal"`
	Since  uint64          `json:"since"`
}

func (n *node) submit(ctx context.Context, namespace string, goal asked) (Answer, error) {
	var out struct {
		Index       uint64
		Hash, Fault string
	}
	err := n.ask(ctx, http.MethodPost, "/"+namespace+"/goals", goal, &out)
	return Answer{Index: out.Index, Hash: out.Hash, Fault: out.Fault}, err
}

// counter asks for a linearizable read of the counter.
func (n *node) counter(ctx context.Context, cfg Config) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, lookMost)
	defer cancel()
	var out struct{ Answer json.RawMessage }
	q := url.Values{"fresh": {"1"}, "query": {cfg.Counter.query}}
	if err := n.ask(ctx, http.MethodGet, "/"+cfg.Namespace+"/state?"+q.Encode(), nil, &out); err != nil {
		return 0, err
	}
	return cfg.Counter.value(out.Answer)
}

// Status is what a node says of its copy.
type Status struct {
	State    string
	Store    uint64 // the id of its store
	Decides  bool
	Position struct{ Index uint64 }
	Copy     struct{ Known uint64 }
}

// String says how the copy stands.
func (s Status) String() string {
	return fmt.Sprintf("it is %s, has entry %d and knows of entry %d", cmp.Or(s.State, "silent"), s.Position.Index, s.Copy.Known)
}

// Await asks a node until something is so. The error says what the node said last.
func (l *Load) Await(ctx context.Context, name string, is func(Status) bool) error {
	n := l.named(name)
	var last Status
	for {
		var s Status
		look, cancel := context.WithTimeout(ctx, lookMost)
		err := n.ask(look, http.MethodGet, "/"+l.cfg.Namespace, nil, &s)
		cancel()
		if err == nil {
			last = s
		}
		if err == nil && is(s) {
			return nil
		}
		if err := pause.For(ctx, lookPace); err != nil {
			return fmt.Errorf("%s: %w", last, err)
		}
	}
}

// read reads each entry, every page at another node. A node that is away, or has nothing new, is passed over.
func (l *Load) read() {
	for i := 0; l.trying.Err() == nil; i++ {
		next := uint64(0)
		l.Note(func(r *Record) { next = r.read() + 1 })
		page, err := l.page(l.at(i), next)
		if err != nil {
			_ = pause.For(l.trying, askAgain)
			continue
		}
		l.Note(func(r *Record) { r.Entries = append(r.Entries, page...) })
	}
}

// read returns the index of the newest entry that was read.
func (r *Record) read() uint64 {
	if len(r.Entries) == 0 {
		return 0
	}
	return r.Entries[len(r.Entries)-1].Index
}

func (l *Load) page(n *node, from uint64) ([]Entry, error) {
	ctx, cancel := context.WithTimeout(l.trying, pageMost)
	defer cancel()
	var out struct{ Entries []Entry }
	err := n.ask(ctx, http.MethodGet, fmt.Sprintf("/%s/entries?from=%d&wait_ms=%d", l.cfg.Namespace, from, pageWait.Milliseconds()), nil, &out)
	for i := range out.Entries {
		out.Entries[i].From = n.name
	}
	return out.Entries, err
}
