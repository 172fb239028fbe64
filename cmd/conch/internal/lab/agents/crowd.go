//go:build unix

package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/authority"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/transport/mtls"
)

// patience bounds each wait. What is waited for comes within seconds.
const patience = 2 * time.Minute

// contacts is by how many agents of this process all join.
const contacts = 3

// Shape is the size of a crowd, and how those that may lead are started.
type Shape struct {
	Program, Command string // the binary, and its command that calls RunChild
	Dir              string // an empty folder
	Nodes, Electors  int    // Electors among Nodes
}

// Crowd is some agents. Its methods are called by one goroutine.
type Crowd struct {
	Cold time.Duration // from the start of the first agent until all named one leader

	shape    Shape
	views    *views
	launcher *fleet.Launcher
	electors []peer
	files    map[string]string // with the settings of electors
	children map[string]*child
	names    []string // of the agents in this process
	agents   []*one
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// Open starts a crowd and waits until all its agents name one leader. The caller closes it, also after an error.
func Open(ctx context.Context, s Shape) (*Crowd, error) {
	c := &Crowd{shape: s, views: newViews(), launcher: fleet.NewLauncher(), files: map[string]string{}, children: map[string]*child{}, cancel: func() {}}
	ca, err := authority.New(filepath.Join(s.Dir, "ca.pem"))
	if err != nil {
		return c, err
	}
	all, err := c.prepare(ctx, ca)
	if err != nil {
		return c, err
	}
	began := fence.Boottime()
	if err := c.start(ctx, all); err != nil {
		return c, err
	}
	_, since, err := c.agree(ctx, s.Nodes)
	c.Cold = since.Sub(began)
	return c, err
}

// prepare makes the settings of all agents, without contacts. The electors come first.
func (c *Crowd) prepare(ctx context.Context, ca *authority.Authority) (all []settings, err error) {
	for i := range c.shape.Nodes {
		name := fmt.Sprint("agent-", i+1)
		file := filepath.Join(c.shape.Dir, name)
		s := settings{Name: name, Listen: "127.0.0.1:0", CA: ca.File, Key: file + ".key", Certificate: file + ".pem"}
		identity, err := mtls.CreateIdentity(s.Key)
		if err == nil {
			err = ca.Certify(name, identity, s.Certificate, authority.Lasting)
		}
		if err != nil {
			return nil, err
		}
		if i < c.shape.Electors {
			if s.Listen, err = fleet.LowPort(ctx); err != nil {
				return nil, err
			}
			c.electors = append(c.electors, peer{Name: s.Name, Address: s.Listen, Key: identity.Fingerprint().String()})
		}
		all = append(all, s)
	}
	for i := range all {
		all[i].Electors = c.electors
	}
	return all, nil
}

// start starts all agents. The first ones of this process are those by which the others join.
func (c *Crowd) start(ctx context.Context, all []settings) error {
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx)) // Close ends them
	var known []peer
	for _, s := range all[c.shape.Electors:] {
		s.Contacts = known
		o, err := s.open(func(w word) { c.hear(s.Name, w) })
		if err != nil {
			return fmt.Errorf("starting %s: %w", s.Name, err)
		}
		c.names, c.agents = append(c.names, s.Name), append(c.agents, o)
		if len(known) < contacts {
			known = append(slices.Clone(known), peer{Name: s.Name, Address: o.endpoint.Addr().String()})
		}
		c.views.begins(s.Name)
		c.running.Go(func() {
			if err := o.run(ctx); err != nil || ctx.Err() == nil {
				c.views.fault(fmt.Errorf("%s: %w", s.Name, errors.Join(err, errEnded)))
			}
		})
	}
	for _, s := range all[:c.shape.Electors] {
		s.Contacts = known
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		c.files[s.Name] = filepath.Join(c.shape.Dir, s.Name+".json")
		if err := os.WriteFile(c.files[s.Name], text, 0o600); err != nil {
			return err
		}
		if err := c.launch(s.Name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Crowd) launch(name string) error {
	c.views.begins(name)
	one, err := launch(c.launcher, c.shape.Program, c.shape.Command, c.files[name], func(w word) { c.hear(name, w) }, func(last string) {
		if c.views.lives(name) {
			c.views.fault(fmt.Errorf("%s: %w: %s", name, errEnded, last))
		}
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	c.children[name] = one
	return nil
}

func (c *Crowd) hear(agent string, w word) {
	switch w.Kind {
	case named:
		c.views.names(agent, w.Name, w.At)
	case heard:
		c.views.hears(agent, w.Name, w.At)
	}
}

// agree waits until so many agents live and name one leader of them, and returns since when the last one does.
func (c *Crowd) agree(ctx context.Context, many int) (leader string, since fence.Instant, err error) {
	err = c.views.await(ctx, patience, fmt.Sprintf("%d agents name one leader", many), func() bool {
		leader, since = c.views.agreed(many)
		return leader != "" || len(c.views.faults) > 0
	})
	return leader, since, errors.Join(err, c.Faults())
}

// Faults returns what must not have happened.
func (c *Crowd) Faults() error {
	c.views.Lock()
	defer c.views.Unlock()
	return errors.Join(c.views.faults...)
}

// Close ends all agents.
func (c *Crowd) Close() error {
	c.cancel()
	for name, one := range c.children {
		c.views.ends(name)
		one.kill()
	}
	for _, one := range c.children {
		<-one.Over()
	}
	c.running.Wait()
	c.launcher.Close()
	return nil
}
