package candidate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
)

// Config configures a candidate.
type Config struct {
	ID    string
	URL   string // URL of the database, or host:port of etcd
	File  string // the outside file
	Pace  time.Duration
	Lease time.Duration // 0: the library's defaults
}

// Run runs the candidate of a peer. When ctx ends it gives up the leadership in order.
func Run(ctx context.Context, name string, cfg Config) error {
	run, known := peers[name]
	if !known {
		return fmt.Errorf("there is no peer %q in this binary", name)
	}
	file, err := os.OpenFile(cfg.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return run(ctx, cfg, &outside{id: cfg.ID, pace: cfg.Pace, file: file})
}

// peers holds the compiled-in peers. A build with the tag one and that of a peer has that peer only,
// so that its memory does not include other libraries.
var peers = map[string]peer{}

type peer func(context.Context, Config, *outside) error

func enter(name string, run peer) string {
	peers[name] = run
	return name
}

// outside is the file that nothing protects.
type outside struct {
	id   string
	pace time.Duration
	mu   sync.Mutex
	file *os.File
}

// Line is one act.
type Line struct {
	Node  string        `json:"node"`
	Start fence.Instant `json:"start"`
	End   fence.Instant `json:"end"`
}

// act writes one line, in one write.
func (o *outside) act() error {
	now := fence.Boottime()
	line, err := json.Marshal(Line{Node: o.id, Start: now, End: now})
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err = o.file.Write(append(line, '\n'))
	return err
}

// work acts until ctx, which stands for the leadership, ends.
func (o *outside) work(ctx context.Context) error {
	tick := time.NewTicker(o.pace)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := o.act(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}
