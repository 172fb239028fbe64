//go:build unix

package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/internal/fleet"
)

const filesToken = "bench-0123456789abcdef-0123456789abcdef"

// cabinets is three conch nodes that hold the files of one scope.
type cabinets struct {
	launcher *fleet.Launcher
	nodes    []*fleet.Process
	urls     []string
	leader   *uploads
}

// openCabinets starts the nodes and waits until one leads and the others follow it. The caller ends
// them, also after an error.
func openCabinets(ctx context.Context, cfg Config, s *site) (*cabinets, error) {
	c := &cabinets{launcher: fleet.NewLauncher()}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: filesCallers}}
	var peers []string
	for i := range plainCopies {
		address, err := fleet.LowPort(ctx)
		if err != nil {
			return c, err
		}
		c.urls = append(c.urls, "http://"+address)
		peers = append(peers, fmt.Sprintf("node-%d = %q", i+1, c.urls[i]))
	}
	token := filepath.Join(s.dir, "token")
	if err := os.WriteFile(token, []byte("bench "+filesToken+"\n"), 0o600); err != nil {
		return c, err
	}
	for i, url := range c.urls {
		id := fmt.Sprintf("node-%d", i+1)
		text := fmt.Sprintf("[node]\ndata_dir = %q\nlisten = %q\ntoken_file = %q\n[election]\nlease = %q\n"+
			"[[files]]\nscope = \"bench\"\ndir = %q\ntoken_file = %q\npeers = { %s }\n",
			filepath.Join(s.dir, id), strings.TrimPrefix(url, "http://"), token, cfg.Lease.String(),
			filepath.Join(s.dir, id+"-files"), token, strings.Join(peers, ", "))
		if err := c.start(cfg, s, id, text); err != nil {
			return c, err
		}
	}
	return c, until(ctx, "one node leads the files and the others hold them", func() (bool, error) {
		for i, url := range c.urls {
			if c.leads(ctx, client, url) {
				c.leader = &uploads{url: c.urls[i] + "/v1/files/bench/", client: client, pids: c.pids()}
				return true, nil
			}
		}
		return false, nil
	})
}

func (c *cabinets) start(cfg Config, s *site, id, text string) error {
	file := filepath.Join(s.dir, id+".toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	p, err := c.launcher.Launch(daemon(cfg, s, id, file))
	if err != nil {
		return fmt.Errorf("starting %s: %w", id, err)
	}
	c.nodes = append(c.nodes, p)
	return nil
}

// leads reports whether the node at a URL leads, and the others hold what it holds.
func (c *cabinets) leads(ctx context.Context, client *http.Client, url string) bool {
	var out struct {
		Leading bool
		Version struct{ Epoch, Seq int64 }
		Peers   map[string]struct{ Epoch, Seq int64 }
	}
	node := nodeapi.Node{Client: client, Base: url, Token: filesToken}
	err := node.Ask(ctx, http.MethodGet, "/v1/files/bench", nil, &out) // it may not have started yet
	for _, held := range out.Peers {
		out.Leading = out.Leading && held == out.Version
	}
	return err == nil && out.Leading && len(out.Peers) == plainCopies-1
}

func (c *cabinets) pids() (pids []int) {
	for _, n := range c.nodes {
		pids = append(pids, n.PID())
	}
	return pids
}

func (c *cabinets) endAll() {
	fleet.EndAll(patience, c.nodes...)
	c.launcher.Close()
}
