package files

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/chunksync"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/secretfile"
)

// cabinet has the files of all scopes on this node, which leads or follows each.
type cabinet struct {
	id      string
	log     *slog.Logger
	blocked func(scope string) // counts refusals by a shut gate (S17)

	mu      sync.Mutex
	drawers map[string]*drawer // by scope
}

// drawer has the files of one scope.
type drawer struct {
	cfg     Files // as of the latest term
	store   *chunksync.Store
	manager *chunksync.Manager
	wanted  bool // false once a reload has removed the scope
}

func newCabinet(f node.Frame) *cabinet {
	return &cabinet{id: f.ID, log: f.Log, blocked: f.Blocked, drawers: map[string]*drawer{}}
}

// keep opens the folders of new scopes. apply hides removed scopes; their stores stay open
// until the node ends, since other nodes may still push to them.
func (c *cabinet) keep(all []Files) (apply func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := map[string]bool{}
	for _, f := range all {
		d := c.drawers[f.Scope]
		if d == nil {
			store, err := chunksync.Open(f.Dir)
			if err != nil {
				return nil, node.Unusable("the dir of the files of "+strconv.Quote(f.Scope), f.Dir, err)
			}
			d = &drawer{cfg: f, store: store}
			if d.manager, err = c.manage(f, store); err != nil {
				return nil, errors.Join(err, store.Close())
			}
			c.drawers[f.Scope] = d
		}
		if d.cfg.Dir != f.Dir {
			return nil, fmt.Errorf("the files of %q cannot move to another dir while the node runs: restart it", f.Scope)
		}
		wanted[f.Scope] = true
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for scope, d := range c.drawers {
			d.wanted = wanted[scope]
		}
	}, nil
}

// manage makes a manager with freshly read tokens and certificates.
func (c *cabinet) manage(f Files, store *chunksync.Store) (*chunksync.Manager, error) {
	peers := map[string]string{}
	for id, api := range f.Peers(c.id) {
		peers[id] = strings.TrimSuffix(api, "/") + "/v1/sync/" + url.PathEscape(f.Scope)
	}
	token, err := web.FirstToken(f.TokenFile)
	if err != nil {
		return nil, err
	}
	roots, err := secretfile.Roots(f.CAFile)
	if err != nil {
		return nil, err
	}
	return chunksync.New(chunksync.Config{
		ID: c.id, Scope: f.Scope, Store: store, Peers: peers, Copies: f.Copies, Repair: f.Repair, Token: token,
		Accept: func(*http.Request) bool { return true }, // the API has checked the token
		Roots:  roots,
		Events: c.events(f.Scope),
	})
}

// begin makes the manager of a term, with the configuration of the latest reload.
func (c *cabinet) begin(f Files) (*chunksync.Manager, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.drawers[f.Scope]
	if d == nil {
		return nil, node.ErrGone
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

// events logs the events of a scope, and Trouble at intervals, since it recurs with each retry.
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
			log.Warn("FILES CANNOT BE PUSHED", slog.String("peer", peer), slog.Any("error", err))
		},
	}
}
