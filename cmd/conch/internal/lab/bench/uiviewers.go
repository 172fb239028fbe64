//go:build unix

package bench

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/internal/pause"
)

// viewers are clients that read the stream of a page, as browsers do: compressed.
type viewers struct {
	all    sync.WaitGroup
	cancel context.CancelFunc
	bytes  atomic.Int64
	rows   atomic.Int64 // events scope
	events atomic.Int64 // of the history
	open   atomic.Int64
	fault  atomic.Pointer[error]
}

// openViewers opens streams of a node.
func openViewers(ctx context.Context, at string, many int) (*viewers, error) {
	ctx, cancel := context.WithCancel(ctx)
	v := &viewers{cancel: cancel}
	for range many {
		v.all.Go(func() {
			if err := v.read(ctx, at); err != nil && ctx.Err() == nil {
				v.fault.CompareAndSwap(nil, &err)
			}
		})
	}
	err := every(ctx, 20*time.Millisecond, "all streams are open", func() (bool, error) { return v.open.Load() == int64(many), v.failed() })
	if err != nil {
		v.close()
	}
	return v, err
}

func (v *viewers) failed() error {
	if err := v.fault.Load(); err != nil {
		return *err
	}
	return nil
}

func (v *viewers) close() { v.cancel(); v.all.Wait() }

func (v *viewers) read(ctx context.Context, at string) error {
	dial := func(ctx context.Context, network, to string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, to)
		return &weighed{conn, &v.bytes}, err
	}
	transport := &http.Transport{DialContext: dial, DisableCompression: true}
	defer transport.CloseIdleConnections()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/v1/events?live=yes", http.NoBody)
	if err != nil {
		return err
	}
	ask.Header.Set("Accept-Encoding", "gzip")
	answer, err := (&http.Client{Transport: transport}).Do(ask)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	plain, err := gzip.NewReader(answer.Body)
	if err != nil {
		return err
	}
	v.open.Add(1)
	last := ""
	err = nodeapi.Hear(plain, &last, nodeapi.Listener{Heard: func(kind string, _ []byte) error { v.count(kind); return nil }})
	return errors.Join(err, errors.New("the stream has ended"))
}

func (v *viewers) count(kind string) {
	switch kind {
	case "scope":
		v.rows.Add(1)
	case "":
		v.events.Add(1)
	}
}

// weighed counts what is read.
type weighed struct {
	net.Conn

	n *atomic.Int64
}

func (c *weighed) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// share returns what the node that is looked at takes of a core for a while, and what the server does; 0 if that is not the bench's own.
func (c *cast) share(ctx context.Context) (node, server float64, err error) {
	database := func() time.Duration {
		pids, err := c.admin.Processes(ctx)
		if c.cfg.Database != "" || err != nil || len(pids) == 0 {
			return 0
		}
		return spentBelow(pids[0])
	}
	pid := c.watcher.process.PID()
	n, d, began := spent(pid), database(), time.Now()
	if err := pause.For(ctx, c.cfg.amounts().looked); err != nil {
		return 0, 0, err
	}
	took := time.Since(began)
	of := func(d time.Duration) float64 { return 100 * float64(d) / float64(took) }
	return of(spent(pid) - n), of(database() - d), nil
}

// viewed measures what viewers take of the node, of the server and of the line while nothing happens: none, one, and many.
func (c *cast) viewed(ctx context.Context, r *Report) error {
	_, wanted, _ := wantedOf(c.scopes)
	many := c.cfg.amounts().viewers
	none, before, err := c.share(ctx)
	if err != nil {
		return err
	}
	node := map[int]float64{}
	for _, n := range []int{1, many} {
		v, err := openViewers(ctx, c.watcher.at, n)
		if err != nil {
			return err
		}
		err = pause.For(ctx, 2*time.Second) // the first answers are over
		sent := v.bytes.Load()
		var server float64
		if err == nil {
			node[n], server, err = c.share(ctx)
		}
		sent = v.bytes.Load() - sent
		v.close()
		if err := errors.Join(err, v.failed()); err != nil {
			return err
		}
		name := fmt.Sprintf("viewers_%d_of_%d", n, c.scopes)
		r.beside(name+"_node", max(node[n]-none, 0), wanted+wantedEach*float64(n), "% of a core")
		r.add(name+"_database", max(server-before, 0), "% of a core")
		r.beside(name+"_bytes", float64(sent)/float64(n)/c.cfg.amounts().looked.Seconds(), wantedViewer, "bytes/s")
	}
	r.beside(fmt.Sprintf("viewer_of_%d_node", c.scopes), max(node[many]-node[1], 0)/float64(max(many-1, 1)), wantedEach, "% of a core")
	return nil
}

// orphaned measures what a viewer is sent when a node dies that led many scopes.
func orphaned(ctx context.Context, cfg Config, s *site, r *Report) error {
	dead := cfg.amounts().orphaned
	cfg.Say("ui: a node dies that leads %d scopes …", dead)
	return inNewDatabase(func() (string, func() error, error) { return s.another(ctx) }, func(url string) error {
		c, err := openCast(ctx, cfg, s, url, dead)
		defer func() { c.close() }()
		if err != nil {
			return err
		}
		v, err := openViewers(ctx, c.watcher.at, 1)
		if err != nil {
			return err
		}
		defer v.close()
		if err := pause.For(ctx, 2*time.Second); err != nil {
			return err
		}
		sent, rows, events := v.bytes.Load(), v.rows.Load(), v.events.Load()
		if err := c.kill(ctx); err != nil {
			return err
		}
		err = every(ctx, 50*time.Millisecond, "the viewer has all events", func() (bool, error) { return v.events.Load()-events >= int64(2*dead), v.failed() })
		if err != nil {
			return err
		}
		if err := pause.For(ctx, time.Second); err != nil {
			return err
		}
		name := fmt.Sprintf("dead_%d", dead)
		r.beside(name+"_bytes", float64(v.bytes.Load()-sent), wantedBurst, "bytes")
		r.add(name+"_scope_events", float64(v.rows.Load()-rows), "events")
		r.add(name+"_history_events", float64(v.events.Load()-events), "events")
		return nil
	})
}
