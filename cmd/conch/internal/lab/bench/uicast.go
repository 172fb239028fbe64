//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/browser"
	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pause"
)

// cast is two nodes with the same scopes, of which one leads all, and a third that leads one of its own and is looked at.
type cast struct {
	cfg      Config
	site     *site
	scopes   int
	launcher *fleet.Launcher
	admin    *pgraw.Admin
	dir      string
	nodes    []*acting
	watcher  *acting
}

// acting is a conch node.
type acting struct {
	*nodeapi.Node

	id      string
	at      string
	process *fleet.Process
}

// another makes a database with conch's schema.
func (s *site) another(ctx context.Context) (url string, drop func() error, err error) {
	if url, drop, err = pgraw.CreateDatabase(ctx, s.url); err != nil {
		return url, drop, err
	}
	return url, drop, pgmint.Up(ctx, pgmint.Config{URL: url}, func(string) {})
}

// openCast starts the nodes. The caller closes it, also after an error.
func openCast(ctx context.Context, cfg Config, s *site, url string, scopes int) (c *cast, err error) {
	c = &cast{cfg: cfg, site: s, scopes: scopes, launcher: fleet.NewLauncher()}
	if c.dir, err = os.MkdirTemp(s.dir, "ui-"); err != nil {
		return c, err
	}
	if c.admin, err = pgraw.OpenAdmin(ctx, url); err != nil {
		return c, err
	}
	roles := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "[[roles]]\nname = \"scope-%05d\"\n", i)
		}
		return b.String()
	}
	for _, one := range []struct{ id, more string }{
		{"node-1", roles(scopes)}, {"node-2", "[metrics]\nper_scope = \"gauges\"\n" + roles(scopes)}, {"node-3", "[[roles]]\nname = \"of-node-3\"\n"},
	} {
		n, err := c.start(ctx, url, one.id, one.more)
		if err != nil {
			return c, err
		}
		c.nodes, c.watcher = append(c.nodes, n), n
		if one.id == "node-1" {
			if err := c.led(ctx, scopes); err != nil {
				return c, err
			}
		}
	}
	if err := c.led(ctx, scopes+1); err != nil {
		return c, err
	}
	return c, pause.For(ctx, 2*cfg.Lease)
}

func (c *cast) start(ctx context.Context, url, id, more string) (*acting, error) {
	at, err := fleet.LowPort(ctx)
	if err != nil {
		return nil, err
	}
	locks := locks(c.scopes)
	text := fmt.Sprintf("database.url = %q\n[node]\nlisten = %q\n[election]\nlease = %q\nlocks = %q\n%s", url, at, c.cfg.Lease, locks, more)
	file := filepath.Join(c.dir, id+".toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	n := &acting{Node: nodeapi.Listening(at, 1, uiPatience), id: id, at: at}
	if n.process, err = c.launcher.Launch(fleet.Command{Program: c.cfg.Conch, Args: []string{"node", "--config", file, "--id", id}}); err != nil {
		return nil, err
	}
	err = within(ctx, 5*patience, 50*time.Millisecond, id+" serves", func() (bool, error) {
		if !n.process.Alive() {
			return false, errors.New("it has ended" + n.process.Said(id))
		}
		return n.Ask(ctx, http.MethodGet, "/healthz", nil, new(any)) == nil, nil
	})
	return n, err
}

func (c *cast) led(ctx context.Context, scopes int) error {
	return within(ctx, 5*patience, 100*time.Millisecond, fmt.Sprintf("%d scopes are led", scopes), func() (bool, error) {
		n, _, err := c.admin.Led(ctx)
		return n == scopes, err
	})
}

func (c *cast) close() {
	var all []*fleet.Process
	for _, n := range c.nodes {
		n.Close()
		all = append(all, n.process)
	}
	fleet.EndAll(0, all...)
	if c.admin != nil {
		c.admin.Close()
	}
	c.launcher.Close()
}

func (c *cast) url() string { return "http://" + c.watcher.at + "/" }

// tab opens the page in a new tab, and waits for its first line.
func (c *cast) tab(ctx context.Context, b *browser.Browser, hash string) (*browser.Tab, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, uiPatience, errNever)
	defer cancel()
	t, err := b.Open("")
	if err != nil {
		return nil, err
	}
	if err = t.Go(ctx, c.url()+hash); err == nil {
		_, err = browser.Ask[bool](ctx, t, `new Promise((done) => {
			const look = () => (document.querySelector('header .live')?.innerText.includes('live') ? done(true) : requestAnimationFrame(look))
			look()
		})`)
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("the page: %w", err)
	}
	return t, nil
}

// dated is the beginning of a term.
type dated struct {
	Epoch int64     `json:"epoch"`
	At    time.Time `json:"at"`
}

// epoch returns the newest beginning of a term of a scope.
func (c *cast) epoch(ctx context.Context, scope string) (dated, error) {
	var list struct{ Events []dated }
	err := c.watcher.Ask(ctx, http.MethodGet, "/v1/history?event=acquired&limit=1&scope="+scope, nil, &list)
	if err == nil && len(list.Events) == 0 {
		err = fmt.Errorf("%s was never led", scope)
	}
	if err != nil {
		return dated{}, err
	}
	return list.Events[0], nil
}

// past writes a history. The page of a node tells what is new in it too, so that it is there first.
func (c *cast) past(ctx context.Context, events int) error {
	if err := c.admin.Past(ctx, events, c.scopes); err != nil {
		return err
	}
	return pause.For(ctx, 3*time.Second)
}

// scraped measures /metrics of the leader, which has all series of all scopes, and of the other one, whose counters are of all together.
func (c *cast) scraped(ctx context.Context, r *Report) error {
	_, _, wanted := wantedOf(c.scopes)
	for i, kind := range []string{"full", "gauges"} {
		n := c.nodes[i]
		var took []float64
		before, size := spent(n.process.PID()), 0
		const times = 5
		for range times {
			began := time.Now()
			var err error
			if size, err = scrape(ctx, n); err != nil {
				return err
			}
			took = append(took, ms(time.Since(began)))
		}
		name := fmt.Sprintf("metrics_%s_%d", kind, c.scopes)
		r.beside(name, median(took), wanted, "ms")
		r.add(name+"_bytes", float64(size), "bytes")
		r.add(name+"_processor", ms(spent(n.process.PID())-before)/times, "ms")
	}
	return nil
}

// scrape returns the size of the answer as it is sent, compressed.
func scrape(ctx context.Context, n *acting) (int, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Base+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	ask.Header.Set("Accept-Encoding", "gzip")
	answer, err := n.Client.Do(ask)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	size, err := io.Copy(io.Discard, answer.Body)
	return int(size), err
}

// kill ends the leader, and returns once the other one leads.
func (c *cast) kill(ctx context.Context) error {
	c.nodes[0].process.Signal(syscall.SIGKILL)
	_, before, err := c.admin.Led(ctx)
	if err != nil {
		return err
	}
	return every(ctx, 50*time.Millisecond, "the other node leads all", func() (bool, error) {
		n, epochs, err := c.admin.Led(ctx)
		return n == c.scopes+1 && epochs >= before, err
	})
}
