package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/serf/serf"

	"github.com/conchhq/conch/internal/pause"
)

// heardWithin is how long an event is waited for. Serf promises it to nobody.
const heardWithin = 15 * time.Second

// served is a member of serf.
type served struct{ *serf.Serf }

func (s served) join(contacts []string) error {
	_, err := s.Join(contacts, true)
	return err
}

func (s served) address() string { return s.Memberlist().LocalNode().Address() }

func (s served) close() { _ = s.Shutdown() }

// serfMember starts a member with the defaults, which are those of a local network.
func serfMember(g *group, i int) (member, error) {
	t, err := listen(&g.sent)
	if err != nil {
		return nil, err
	}
	told := make(chan serf.Event, 1024)
	cfg := serf.DefaultConfig()
	cfg.Init()
	cfg.NodeName, cfg.EventCh, cfg.LogOutput = fmt.Sprint("member-", i+1), told, io.Discard
	cfg.MemberlistConfig.Transport, cfg.MemberlistConfig.LogOutput = t, io.Discard
	s, err := serf.Create(cfg)
	if err != nil {
		return nil, errors.Join(err, t.Shutdown())
	}
	go g.follow(i, s, told)
	return served{s}, nil
}

// follow takes down what one member is told, until its end.
func (g *group) follow(i int, s *serf.Serf, told <-chan serf.Event) {
	for {
		select {
		case e := <-told:
			switch e := e.(type) {
			case serf.UserEvent:
				g.hears(i, e.Name)
			case serf.MemberEvent:
				for _, m := range e.Members {
					if e.Type == serf.EventMemberJoin {
						g.joined(i, m.Name)
					} else if e.Type != serf.EventMemberUpdate {
						g.left(i, m.Name)
					}
				}
			}
		case <-s.ShutdownCh():
			return
		}
	}
}

// events measures how long an event of one member takes to the others.
func events(ctx context.Context, cfg config) error {
	g, err := found(ctx, cfg, cfg.nodes, serfMember)
	defer g.close()
	if err != nil {
		return err
	}
	if err := g.rest(ctx); err != nil {
		return err
	}
	for i := range cfg.times {
		if err := pause.For(ctx, 200*time.Millisecond+drawn(200*time.Millisecond)); err != nil { // members gossip each 200 ms
			return err
		}
		if err := g.publish(ctx, fmt.Sprint("event-", i+1)); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) publish(ctx context.Context, name string) error {
	by := drawn(len(g.members))
	from, _ := g.members[by].(served)
	began := time.Now()
	if err := from.UserEvent(name, []byte(name), false); err != nil {
		return err
	}
	err := g.await(ctx, heardWithin, "all have heard it", func() bool { return len(g.heard[name]) >= len(g.members) })
	if ctx.Err() != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := line{Kind: news, Missed: max(len(g.members)-len(g.heard[name]), 0)}
	for _, h := range g.heard[name] {
		if h.by != by {
			l.Took = append(l.Took, ms(h.at.Sub(began)))
		}
	}
	g.cfg.say(l)
	return nil
}
