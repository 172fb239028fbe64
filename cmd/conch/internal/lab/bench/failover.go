//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
)

// relay is conch nodes that send one account's transactions, one of them at a time.
type relay struct {
	account  *account
	launcher *fleet.Launcher
	nodes    map[string]*runner // by name
	lives    sync.WaitGroup
}

type runner struct {
	process *fleet.Process
	gone    chan struct{}
}

// failovers: kill -9 of the leading node until its successor's first transaction is
// with the chain's node. The ceiling is the detection of the same kill, until there is
// a token, and what one intent takes at rest.
func (a *account) failovers(ctx context.Context, r *Report) error {
	many := a.cfg.amounts().failovers
	a.cfg.Say("pending: %d times kill -9 of the leading node …", many)
	q := &relay{account: a, launcher: fleet.NewLauncher(), nodes: map[string]*runner{}}
	defer q.dismiss()
	for _, id := range []string{"node-1", "node-2"} {
		if err := q.start(id); err != nil {
			return err
		}
	}
	var sent, least []time.Duration
	rest := r.value("idle_p50")
	for i := range many {
		took, detected, err := q.kill(ctx, i)
		if err != nil {
			return err
		}
		sent, least = append(sent, took), append(least, detected+rest)
	}
	r.add("failover_samples", float64(len(sent)), "kills")
	r.spread("failover_to_sent", sent, least)
	return nil
}

// start gives a node its next life.
func (q *relay) start(id string) error {
	a := q.account
	file := filepath.Join(a.site.dir, id+".toml")
	text := fmt.Sprintf("[node]\ndata_dir = %q\nlisten = \"off\"\n[election]\nlease = %q\n"+
		"[[chains]]\nname = \"dev\"\nkind = \"evm\"\nurl = %q\nchain_id = %d\n"+
		"[[accounts]]\nname = \"payer\"\nchain = \"dev\"\nkeystore = %q\npassword_file = %q\n",
		filepath.Join(a.site.dir, id), a.cfg.Lease.String(), a.payer.Node.WS, a.payer.Node.ChainID, a.payer.Keystore, a.payer.PasswordFile)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	n := &runner{gone: make(chan struct{})}
	q.lives.Add(1)
	p, err := q.launcher.Launch(a.cfg.Program, []string{"node", "--config", file, "--id", id, "--log-level", "error"},
		[]string{"CONCH_DB_URL=" + a.site.url}, func(news fleet.News) {
			if news.Ended {
				close(n.gone)
				q.lives.Done()
			}
		})
	if err != nil {
		q.lives.Done()
		return fmt.Errorf("starting %s: %w", id, err)
	}
	n.process, q.nodes[id] = p, n
	return nil
}

// kill strikes whoever leads, once everything is done and the other waits.
func (q *relay) kill(ctx context.Context, i int) (sent, detected time.Duration, err error) {
	a := q.account
	var leader string
	var epoch int64
	err = until(ctx, "one node leads and the other waits", func() (bool, error) {
		n, err := a.site.desk.Waiters(ctx, a.scope)
		if err != nil || n == 0 {
			return false, err
		}
		token, err := a.site.desk.Token(ctx, a.scope)
		leader, epoch = token.Holder, token.Epoch
		return q.nodes[leader] != nil, err
	})
	if err != nil {
		return 0, 0, err
	}
	before, err := a.payer.Count(ctx, "pending")
	if err != nil {
		return 0, 0, err
	}
	if err := a.payer.Accept(ctx, 1); err != nil { // it sends, and has nothing left to do
		return 0, 0, err
	}
	if err := a.payer.Until(ctx, "finalized", before+1, look); err != nil {
		return 0, 0, err
	}
	if err := pass(ctx, phase(a.cfg.Lease/5, i)); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	q.nodes[leader].process.Signal(syscall.SIGKILL)
	if err := a.payer.Accept(ctx, 1); err != nil {
		return 0, 0, err
	}
	took, err := seen(ctx, began,
		sight{"its first transaction is sent", func() (bool, error) {
			n, err := a.payer.Count(ctx, "pending")
			return n >= before+2, err
		}},
		sight{"somebody else leads", func() (bool, error) {
			token, err := a.site.desk.Token(ctx, a.scope)
			return token.Epoch > epoch, err
		}})
	if err != nil {
		return 0, 0, err
	}
	<-q.nodes[leader].gone
	q.nodes[leader].process.CloseStdin()
	return took[0], took[1], q.start(leader)
}

// sight is something that will be seen.
type sight struct {
	what string
	done func() (bool, error)
}

// look is how often it is looked for.
const look = time.Millisecond

// seen says how long after the beginning each was seen. All are looked for at one pace:
// a ceiling that is looked at less often than the figure makes the figure look good.
func seen(ctx context.Context, began time.Time, sights ...sight) ([]time.Duration, error) {
	took, faults := make([]time.Duration, len(sights)), make([]error, len(sights))
	var crew sync.WaitGroup
	for i, s := range sights {
		crew.Go(func() {
			faults[i] = every(ctx, look, s.what, s.done)
			took[i] = time.Since(began)
		})
	}
	crew.Wait()
	return took, errors.Join(faults...)
}

// dismiss ends all nodes and returns when none is left.
func (q *relay) dismiss() {
	for _, n := range q.nodes {
		n.process.Signal(syscall.SIGKILL)
		n.process.CloseStdin()
	}
	q.lives.Wait()
	q.launcher.Close()
}
