package assemble

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/chunksync"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election"
)

// cabinet has the files of a node, whoever leads their scopes.
type cabinet struct {
	id      string
	log     *slog.Logger
	blocked func(scope string) // counts what a shut gate refused (S17)

	mu      sync.Mutex
	drawers map[string]*drawer // by scope
}

// drawer is one scope.
type drawer struct {
	cfg     config.Files // of the latest term
	store   *chunksync.Store
	manager *chunksync.Manager
	wanted  bool // false: a reload has taken it out
}

func (n *Node) newCabinet() *cabinet {
	return &cabinet{id: n.id, log: n.log, blocked: n.meters.Blocked, drawers: map[string]*drawer{}}
}

// keep opens the folders of what is new, and hides what is gone until the node ends:
// others may still be pushing to it.
func (c *cabinet) keep(all []config.Files) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := map[string]bool{}
	for _, f := range all {
		d := c.drawers[f.Scope]
		if d == nil {
			store, err := chunksync.Open(f.Dir)
			if err != nil {
				return unusable("the dir of the files of "+strconv.Quote(f.Scope), f.Dir, err)
			}
			d = &drawer{cfg: f, store: store}
			if d.manager, err = c.manage(f, store); err != nil {
				return errors.Join(err, store.Close())
			}
			c.drawers[f.Scope] = d
		}
		if d.cfg.Dir != f.Dir {
			return fmt.Errorf("the files of %q can not move to another dir while the node runs: restart it", f.Scope)
		}
		wanted[f.Scope] = true
	}
	for scope, d := range c.drawers {
		d.wanted = wanted[scope]
	}
	return nil
}

// manage makes a manager; its tokens and certificates are read anew.
func (c *cabinet) manage(f config.Files, store *chunksync.Store) (*chunksync.Manager, error) {
	peers := map[string]string{}
	for id, api := range f.Peers(c.id) {
		peers[id] = strings.TrimSuffix(api, "/") + "/v1/sync/" + url.PathEscape(f.Scope)
	}
	token, err := web.FirstToken(f.TokenFile)
	if err != nil {
		return nil, err
	}
	roots, err := rootsOf(f.CAFile)
	if err != nil {
		return nil, err
	}
	return chunksync.New(chunksync.Config{
		ID: c.id, Scope: f.Scope, Store: store, Peers: peers, Copies: f.Copies, Repair: f.Repair, Token: token,
		Accept: func(*http.Request) bool { return true }, // the API has asked for a token
		Roots:  roots,
		Events: c.events(f.Scope),
	})
}

// rootsOf is nil, the system's, for no file.
func rootsOf(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return pool, nil
}

// lead is the work of files: what changes is pushed to followers for as long as this
// node leads (S19, S22). Behind the fenced door: a follower has promised, durably, to
// hear nobody of an earlier epoch, so a stale push is refused where it would do harm.
func (n *Node) lead(f config.Files) work {
	return func(ctx context.Context, l election.Leadership) error {
		m, err := n.cabinet.begin(f)
		if err != nil {
			n.log.Error("files can not be led", slog.String("scope", f.Scope), slog.Any("error", err))
			return err
		}
		n.log.Info("leading files", slog.String("scope", f.Scope), slog.Int64("epoch", l.Token.Epoch))
		if err := m.Lead(ctx, l.Gate, l.Token); ctx.Err() == nil {
			return err
		}
		return nil // it was told to end, and whoever told it knows why
	}
}

// begin makes the manager of a term: what a reload has changed counts from here on.
func (c *cabinet) begin(f config.Files) (*chunksync.Manager, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.drawers[f.Scope]
	if d == nil {
		return nil, errGone
	}
	m, err := c.manage(f, d.store)
	if err == nil {
		d.cfg, d.manager = f, m
	}
	return m, err
}

func (c *cabinet) find(scope string) *chunksync.Manager {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.drawers[scope]; d != nil && d.wanted {
		return d.manager
	}
	return nil
}

func (c *cabinet) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.drawers {
		_ = d.store.Close()
	}
}

// events go to the log. What fails is tried for as long as it fails: said once in a while.
func (c *cabinet) events(scope string) chunksync.Events {
	log := c.log.With(slog.String("scope", scope))
	var mu sync.Mutex
	said := map[string]time.Time{}
	return chunksync.Events{
		Adopted: func(peer string, v chunksync.Version) {
			log.Info("files taken over", slog.String("from", peer), slog.String("version", v.String()))
		},
		Took: func(peer string, v chunksync.Version) {
			log.Debug("files pushed", slog.String("peer", peer), slog.String("version", v.String()))
		},
		Followed: func(holder string, v chunksync.Version) {
			log.Debug("files followed", slog.String("holder", holder), slog.String("version", v.String()))
		},
		Rejected: func(holder string, err error) {
			log.Warn("a deposed leader's files are refused", slog.String("holder", holder), slog.Any("error", err))
		},
		Refused: func(err error) {
			c.blocked(scope)
			log.Warn("refused: not the leader", slog.Any("error", err))
		},
		Trouble: func(peer string, err error) {
			mu.Lock()
			defer mu.Unlock()
			if last, before := said[peer]; before && time.Since(last) < outage.Every {
				return
			}
			said[peer] = time.Now()
			log.Warn("FILES CAN NOT BE PUSHED", slog.String("peer", peer), slog.Any("error", err))
		},
	}
}
