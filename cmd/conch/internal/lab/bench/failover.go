//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pause"
)

// senders is a set of conch nodes of which one at a time sends an account's transactions.
type senders struct {
	account  *account
	launcher *fleet.Launcher
	nodes    map[string]*fleet.Process // by name
}

// failovers measures from kill -9 of the leading node until its successor's first transaction is in
// the chain's node. The ceiling is the time to the successor's token after the same kill, plus that
// of one intent at rest.
func (a *account) failovers(ctx context.Context, r *Report) error {
	many := a.cfg.amounts().failovers
	a.cfg.Say("pending: %d times kill -9 of the leading node …", many)
	s := &senders{account: a, launcher: fleet.NewLauncher(), nodes: map[string]*fleet.Process{}}
	defer s.endAll()
	for _, id := range []string{"node-1", "node-2"} {
		if err := s.start(id); err != nil {
			return err
		}
	}
	var sent, least []time.Duration
	rest := r.value("idle_p50")
	for i := range many {
		took, detected, err := s.kill(ctx, i)
		if err != nil {
			return err
		}
		sent, least = append(sent, took), append(least, detected+rest)
	}
	r.add("failover_samples", float64(len(sent)), "kills")
	r.spread("failover_to_sent", sent, least)
	return nil
}

func (s *senders) start(id string) error {
	a := s.account
	return s.launch(id, a.payer.Node.WS, fmt.Sprintf("[[accounts]]\nname = \"payer\"\nchain = \"dev\"\nkeystore = %q\npassword_file = %q\n",
		a.payer.Keystore, a.payer.PasswordFile))
}

// launch starts a node with accounts on the chain behind a URL.
func (s *senders) launch(id, url, accounts string) error {
	a := s.account
	file := filepath.Join(a.site.dir, id+".toml")
	text := fmt.Sprintf("[node]\ndata_dir = %q\nlisten = \"off\"\n[election]\nlease = %q\n"+
		"[[chains]]\nname = \"dev\"\nkind = \"evm\"\nurl = %q\nchain_id = %d\n%s",
		filepath.Join(a.site.dir, id), a.cfg.Lease.String(), url, a.payer.Node.ChainID, accounts)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	p, err := s.launcher.Launch(daemon(a.cfg, a.site, id, file))
	if err != nil {
		return fmt.Errorf("starting %s: %w", id, err)
	}
	s.nodes[id] = p
	return nil
}

// daemon is a conch node on the site's database.
func daemon(cfg Config, s *site, id, file string) fleet.Command {
	return fleet.Command{Program: cfg.Conch, Args: []string{"node", "--config", file, "--id", id, "--log-level", "error"}, Env: []string{"CONCH_DB_URL=" + s.url}}
}

// kill kills the leader once everything is done and the other node waits.
func (s *senders) kill(ctx context.Context, i int) (sent, detected time.Duration, err error) {
	a := s.account
	var leader string
	var epoch int64
	err = until(ctx, "one node leads and the other waits", func() (bool, error) {
		n, err := a.site.admin.Waiters(ctx, a.scope)
		if err != nil || n == 0 {
			return false, err
		}
		token, err := a.site.admin.Token(ctx, a.scope)
		leader, epoch = token.Holder, token.Epoch
		return s.nodes[leader] != nil, err
	})
	if err != nil {
		return 0, 0, err
	}
	before, err := a.payer.Count(ctx, "pending")
	if err != nil {
		return 0, 0, err
	}
	if err := a.payer.Accept(ctx, 1); err != nil { // it connects the leader, and then nothing is left to do
		return 0, 0, err
	}
	if err := a.payer.Until(ctx, "finalized", before+1, look); err != nil {
		return 0, 0, err
	}
	if err := pause.For(ctx, phase(a.cfg.Lease/5, i)); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	s.nodes[leader].Signal(syscall.SIGKILL)
	if err := a.payer.Accept(ctx, 1); err != nil {
		return 0, 0, err
	}
	took, err := timeUntil(ctx, began,
		event{"its first transaction is sent", func() (bool, error) {
			n, err := a.payer.Count(ctx, "pending")
			return n >= before+2, err
		}},
		event{"somebody else leads", func() (bool, error) {
			token, err := a.site.admin.Token(ctx, a.scope)
			return token.Epoch > epoch, err
		}})
	if err != nil {
		return 0, 0, err
	}
	<-s.nodes[leader].Over()
	return took[0], took[1], s.start(leader)
}

type event struct {
	what string
	done func() (bool, error)
}

// look is the interval of polling.
const look = time.Millisecond

// timeUntil returns how long after the beginning each event was noticed. All are polled at one pace:
// a ceiling that is polled less often than its figure makes the figure look good.
func timeUntil(ctx context.Context, began time.Time, events ...event) ([]time.Duration, error) {
	took, faults := make([]time.Duration, len(events)), make([]error, len(events))
	var group sync.WaitGroup
	for i, e := range events {
		group.Go(func() {
			faults[i] = every(ctx, look, e.what, e.done)
			took[i] = time.Since(began)
		})
	}
	group.Wait()
	return took, errors.Join(faults...)
}

func (s *senders) endAll() {
	fleet.EndAll(0, slices.Collect(maps.Values(s.nodes))...)
	s.launcher.Close()
}
