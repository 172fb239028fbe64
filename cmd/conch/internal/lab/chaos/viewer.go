//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/durable"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pause"
)

const (
	viewerRetry = 500 * time.Millisecond
	viewerQuiet = 15 * time.Second // without a byte it gives a stream up, as a page does
	viewerAsks  = 8 * time.Second
)

// audience is viewers of the pages of a cluster's machines.
type audience struct {
	nodes  []*Node
	zero   time.Time // the wall clock at the instant 0
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu      sync.Mutex
	seen    []*Viewing
	beatsAt []fence.Instant // when each was told last
}

// watchPages has so many viewers look at the machines, in turn; every other one goes to the next machine when its stream has ended.
func watchPages(nodes []*Node, many int) *audience {
	ctx, cancel := context.WithCancel(context.Background())
	a := &audience{nodes: nodes, zero: time.Now().Add(-time.Duration(fence.Boottime())), cancel: cancel, beatsAt: make([]fence.Instant, many)}
	for i := range many {
		a.seen = append(a.seen, newViewing(i+1, i%2 == 1))
		a.all.Go(func() { a.view(ctx, i) })
	}
	return a
}

// end ends the viewers and returns what they were told.
func (a *audience) end() (all []Viewing) {
	a.cancel()
	a.all.Wait()
	for _, v := range a.seen {
		all = append(all, *v)
	}
	return all
}

// behind returns how many viewers were told nothing of the present since an instant.
func (a *audience) behind(since fence.Instant) (n int) {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.beatsAt {
		if at <= since {
			n++
		}
	}
	return n
}

func (a *audience) view(ctx context.Context, i int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	last := ""
	for at := i; ctx.Err() == nil; {
		w := &watching{audience: a, who: i, machine: a.nodes[at%len(a.nodes)], client: client, last: last}
		_ = w.stream(ctx) // its machine was hit, or it has ended
		if last = w.last; a.seen[i].moves {
			at++
		}
		_ = pause.For(ctx, viewerRetry)
	}
}

// watching is one stream of a viewer.
type watching struct {
	*audience

	who     int
	machine *Node
	client  *http.Client
	last    string // id of the last event
}

func (w *watching) viewing(note func(v *Viewing)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	note(w.seen[w.who])
}

// stream reads a stream to its end.
func (w *watching) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(viewerQuiet, cancel)
	defer quiet.Stop()
	begun := false
	node := nodeapi.Node{Client: w.client, Base: strings.TrimSuffix(w.machine.pageURL(), "/")}
	return node.Follow(ctx, "/v1/events?live=yes", &w.last, nodeapi.Listener{
		Answered: func(status int) { w.viewing(func(v *Viewing) { v.answered("/v1/events", status) }) },
		Opened:   func() error { w.viewing((*Viewing).begins); return nil },
		Line: func() {
			quiet.Reset(viewerQuiet)
			if !begun {
				begun = true
				w.load(ctx) // what happened before
			}
		},
		Heard: func(kind string, data []byte) error { w.take(ctx, kind, data); return nil },
	})
}

// numbered are rows as a page needs them here.
type numbered struct {
	AsOf    time.Time `json:"as_of"`
	Version uint64    `json:"version"`
	Rows    []struct {
		Scope string `json:"scope"`
		Epoch int64  `json:"epoch"`
	} `json:"rows"`
}

func (n numbered) epochs() map[string]int64 {
	all := map[string]int64{}
	for _, r := range n.Rows {
		all[r.Scope] = r.Epoch
	}
	return all
}

func (w *watching) take(ctx context.Context, kind string, data []byte) {
	now := fence.Boottime()
	var n numbered
	var e struct{ ID int64 }
	switch kind {
	case "":
		_ = json.Unmarshal(data, &e) // an event without an id is 0, which comes twice
	case "scope", "beats":
		_ = json.Unmarshal(data, &n)
	case "gap":
		w.load(ctx)
	}
	w.viewing(func(v *Viewing) {
		v.Told++
		switch kind {
		case "":
			v.event(e.ID)
		case "scope":
			v.rows(n.Version, n.epochs())
		case "beats":
			v.Beats = append(v.Beats, Beat{w.machine.ID, fence.Instant(n.AsOf.Sub(w.zero)), now})
			w.beatsAt[w.who] = now
		}
	})
}

// load reads what a page reads when its stream has begun.
func (w *watching) load(ctx context.Context) {
	var rows numbered
	var past struct{ Events []struct{ ID int64 } }
	var first struct {
		Source  struct{ Database string }
		Verdict struct{ State string }
	}
	w.ask(ctx, "", nil)
	w.ask(ctx, "v1/overview", &first)
	if first.Source.Database == "away" && first.Verdict.State != "unknown" {
		w.viewing(func(v *Viewing) {
			v.fault(ToldNow, "the first line says %s while the database is away", first.Verdict.State)
		})
	}
	if w.ask(ctx, "v1/scopes?view=dense&limit=10000", &rows) {
		w.viewing(func(v *Viewing) { v.rows(rows.Version, rows.epochs()) })
	}
	if w.ask(ctx, "v1/history?limit=5000", &past) {
		var ids []int64
		for _, e := range past.Events {
			ids = append(ids, e.ID)
		}
		w.viewing(func(v *Viewing) { v.history(ids) })
	}
}

// ask reads an answer, and reports whether there is one with what was asked for.
func (w *watching) ask(ctx context.Context, path string, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, viewerAsks)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.machine.pageURL()+path, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return false // its machine was hit
	}
	defer func() { _ = answer.Body.Close() }()
	w.viewing(func(v *Viewing) { v.answered("/"+path, answer.StatusCode) })
	text, err := io.ReadAll(answer.Body)
	return err == nil && answer.StatusCode == http.StatusOK && (into == nil || json.Unmarshal(text, into) == nil)
}

func (n *Node) pageURL() string { return "http://" + n.page.at + "/" }

// servesPage prepares the machine's third process, a conch node whose page viewers look at.
func (n *Node) servesPage() (args []string, err error) {
	dir := filepath.Join(n.cluster.cfg.Dir, "page-"+n.ID)
	if n.page.at == "" {
		if n.page.at, err = fleet.LowPort(context.Background()); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, err
		}
		text := fmt.Sprintf("[node]\nlisten = %q\n[election]\nlease = %q\ntakeover = %q\n[[roles]]\nname = %q\n", n.page.at, n.cluster.cfg.Lease, n.cluster.cfg.Takeover, "page-of-"+n.ID)
		if err := durable.Replace(filepath.Join(dir, "conch.toml"), []byte(text)); err != nil {
			return nil, err
		}
	}
	return []string{"node", "--id", "page-" + n.ID, "--config", filepath.Join(dir, "conch.toml"), "--log-level", "error"}, nil
}
