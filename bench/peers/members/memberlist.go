package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/conchhq/conch/internal/pause"
)

// listed is a member of memberlist.
type listed struct{ *memberlist.Memberlist }

func (l listed) join(contacts []string) error {
	_, err := l.Join(contacts)
	return err
}

func (l listed) address() string { return l.LocalNode().Address() }

// close ends a member without a word.
func (l listed) close() { _ = l.Shutdown() }

// listMember starts a member with the defaults of a local network.
func listMember(name string, sent *counter, tell memberlist.EventDelegate) (member, error) {
	t, err := listen(sent)
	if err != nil {
		return nil, err
	}
	cfg := memberlist.DefaultLANConfig()
	cfg.Name, cfg.Transport, cfg.Events, cfg.LogOutput = name, t, tell, io.Discard
	m, err := memberlist.Create(cfg)
	if err != nil {
		return nil, errors.Join(err, t.Shutdown())
	}
	return listed{m}, nil
}

// teller takes down what one member is told.
type teller struct {
	*roll

	by int
}

// NotifyJoin implements memberlist.EventDelegate.
func (t teller) NotifyJoin(n *memberlist.Node) { t.joined(t.by, n.Name) }

// NotifyLeave implements memberlist.EventDelegate. It is called for the dead too.
func (t teller) NotifyLeave(n *memberlist.Node) { t.left(t.by, n.Name) }

// NotifyUpdate implements memberlist.EventDelegate.
func (teller) NotifyUpdate(*memberlist.Node) {}

// crashes measures how long it takes until every member knows that one was killed. That one is a process of its own.
func crashes(ctx context.Context, cfg config) error {
	g, err := found(ctx, cfg, cfg.nodes-1, func(g *group, i int) (member, error) {
		return listMember(fmt.Sprint("member-", i+1), &g.sent, teller{g.roll, i})
	})
	defer g.close()
	if err != nil {
		return err
	}
	for i := range cfg.times {
		if err := g.kill(ctx, fmt.Sprint("victim-", i+1), i == 0); err != nil {
			return err
		}
	}
	return nil
}

// kill lets one more member join, and kills it when all know it. The first time the rest is counted before that.
func (g *group) kill(ctx context.Context, name string, rests bool) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "victim", "--name", name, "--join", strings.Join(g.contacts(), ","), "--nodes", strconv.Itoa(g.cfg.nodes))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // it ends with us
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		_ = stdin.Close()
	}()
	if err := knowsAll(stdout); err != nil {
		return err
	}
	if err := g.await(ctx, patience, "all know "+name, func() bool { return g.all(g.cfg.nodes) }); err != nil {
		return err
	}
	if rests {
		if err := g.rest(ctx); err != nil {
			return err
		}
	}
	if err := pause.For(ctx, time.Second+drawn(time.Second)); err != nil { // a member asks another one each second
		return err
	}
	began := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	if err := g.await(ctx, patience, "all know that "+name+" is gone", func() bool { return len(g.lost[name]) == len(g.members) }); err != nil {
		return err
	}
	g.cfg.say(line{Kind: crash, Took: []float64{ms(g.last(g.lost[name]).Sub(began))}})
	return nil
}

func (g *group) last(all []instant) (last time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, i := range all {
		if i.at.After(last) {
			last = i.at
		}
	}
	return last
}

// knowsAll waits until a victim says that it does.
func knowsAll(from io.Reader) error {
	var l line
	lines := bufio.NewScanner(from)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &l) != nil || l.Kind != whole {
		return fmt.Errorf("the one to be killed does not come to know the others: %q, %w", lines.Bytes(), lines.Err())
	}
	return nil
}

// victim is a member until it is killed, or nobody holds its stdin open any more.
func victim(ctx context.Context, cfg config, name string, contacts []string) error {
	r := newRoll(1)
	m, err := listMember(name, &counter{}, teller{r, 0})
	if err != nil {
		return err
	}
	defer m.close()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := m.join(contacts); err != nil {
		return err
	}
	if err := r.await(ctx, patience, "it knows all", func() bool { return r.all(cfg.nodes) }); err != nil {
		return err
	}
	cfg.say(line{Kind: whole})
	<-ctx.Done()
	return nil
}
