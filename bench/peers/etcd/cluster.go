//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pause"
)

// cluster is the members.
type cluster struct {
	cfg      config
	launcher *fleet.Launcher
	members  []*member
	all      string // name=URL,…
}

// patience bounds each wait.
const patience = time.Minute

// found starts the members and waits until all name one leader. The caller closes the cluster, also after an error.
func found(ctx context.Context, cfg config) (*cluster, error) {
	c := &cluster{cfg: cfg, launcher: fleet.NewLauncher()}
	var all []string
	for i := range cfg.members {
		name := fmt.Sprint("member-", i+1)
		m, err := newMember(ctx, name, filepath.Join(cfg.dir, name))
		if err != nil {
			return c, err
		}
		c.members, all = append(c.members, m), append(all, name+"="+m.peerURL())
	}
	c.all = strings.Join(all, ",")
	for _, m := range c.members {
		if err := m.start(c.launcher, cfg.program, c.all); err != nil {
			return c, err
		}
	}
	_, err := c.agree(ctx)
	return c, err
}

// close ends all members.
func (c *cluster) close() {
	for _, m := range c.members {
		if m.process != nil {
			m.process.End(0)
		}
		_ = m.asked.Close()
	}
	c.launcher.Close()
}

// agree waits until all members name one leader and have applied the same, and returns it.
func (c *cluster) agree(ctx context.Context) (*member, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("after %s the members do not name one leader", patience))
	defer cancel()
	for {
		var states []*clientv3.StatusResponse
		for _, m := range c.members {
			if err := m.ended(); err != nil {
				return nil, err
			}
			if s := m.status(ctx); s != nil {
				states = append(states, s)
			}
		}
		if i := agreed(states, len(c.members)); i >= 0 {
			return c.members[i], nil
		}
		if err := pause.For(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// agreed returns the place of the leader that all members name, when all are there and have applied the same; else -1.
func agreed(states []*clientv3.StatusResponse, many int) int {
	leader := -1
	for i, s := range states {
		if s.Leader == 0 || s.Leader != states[0].Leader || s.RaftAppliedIndex != states[0].RaftAppliedIndex {
			return -1
		}
		if s.Leader == s.Header.MemberId {
			leader = i
		}
	}
	if len(states) < many {
		return -1
	}
	return leader
}

// status returns what a member says of itself; nil: it does not answer.
func (m *member) status(ctx context.Context) *clientv3.StatusResponse {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s, err := m.asked.Status(ctx, m.client)
	if err != nil {
		return nil
	}
	return s
}
