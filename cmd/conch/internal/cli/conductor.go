//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

// Pauses before a command is started again, doubled each time until it has run
// for a while.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
	settled      = 10 * time.Second
)

// Why a role ends that was not asked to.
var (
	errLate = errors.New("the command was ended: no heartbeat came in time")
	errLost = errors.New("the keeper of the command was killed, and the command with it")
)

// conductor runs one command under a keeper, over and over, while it leads.
type conductor struct {
	app      *app
	flags    runFlags
	id       string
	database pgmint.Config
	command  []string
	door     fence.Door
	grace    time.Duration
	tty      *terminalOf

	campaign context.Context
	stop     context.CancelFunc // ends the campaign

	mu       sync.Mutex
	keeper   *keeper.Keeper // nil while no command runs
	stopping bool           // conch was asked to end
	outcome  error          // what run returns
}

// run campaigns until the command has ended for good or a signal asks for it.
func (c *conductor) run(ctx context.Context, elector *election.Elector) error {
	// Signals are the command's first: conch ends when the command has.
	c.campaign, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer c.stop()
	if !c.flags.isolate { // inside, our process group has no number
		c.tty = openTerminal()
	}
	defer c.tty.close()
	quiet := c.listen()
	defer quiet()
	if ctx.Err() != nil {
		return nil // asked to end before anything began
	}
	var obeying sync.WaitGroup
	obeying.Go(func() { pgmint.Obey(c.campaign, c.database, c.id, elector) })
	err := elector.Run(c.campaign)
	c.stop()
	obeying.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcome != nil {
		return c.outcome
	}
	return err
}

// finish ends the campaign: conch is to end like this.
func (c *conductor) finish(outcome error) {
	c.mu.Lock()
	c.outcome = outcome
	c.mu.Unlock()
	c.stop()
}

// role runs the command until leadership ends or the command does. It returns only
// when nothing of the command is left: then, and only then, may it be released.
func (c *conductor) role(ctx context.Context, l election.Leadership) error {
	pause := firstPause
	for {
		began := time.Now()
		again, err := c.once(ctx, l)
		if !again || ctx.Err() != nil {
			return err
		}
		if time.Since(began) > settled {
			pause = firstPause
		}
		c.app.log.Warn("the command ended and is started again", "in", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-c.campaign.Done():
			timer.Stop()
			return nil
		}
		pause = min(2*pause, longestPause)
	}
}

// once runs the command one time.
func (c *conductor) once(ctx context.Context, l election.Leadership) (again bool, err error) {
	var r result
	k, err := c.start(l, &r)
	if err != nil || k == nil {
		return false, err
	}
	over := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() { c.tell(ctx, over, l.Gate, k) })
	<-k.Done()
	close(over)
	telling.Wait()
	c.mu.Lock()
	c.keeper = nil
	stopping := c.stopping
	c.mu.Unlock()
	c.tty.restore()
	return c.judge(r, stopping)
}

// start starts the keeper, unless conch was asked to end meanwhile.
func (c *conductor) start(l election.Leadership, r *result) (*keeper.Keeper, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil, nil
	}
	env := append(os.Environ(),
		"CONCH_SCOPE="+l.Token.Scope, fmt.Sprintf("CONCH_EPOCH=%d", l.Token.Epoch),
		"CONCH_TERM="+l.Token.Term.String(), "CONCH_ID="+c.id)
	if url := c.database.URL; url != "" { // else the standard PG* variables say it, which CMD has too
		env = append(env, "CONCH_DB_URL="+url)
	}
	k, err := keeper.Keep(keeper.Config{
		Options: keeper.Options{Command: c.command, Grace: c.grace, Group: c.tty.group(), Isolate: c.flags.isolate},
		Env:     env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Report: func(report keeper.Report) { c.note(r, report) },
	})
	if err != nil {
		return nil, fmt.Errorf("starting the keeper: %w", err)
	}
	c.keeper = k
	return k, nil
}

// tell hands the keeper every new deadline of the gate while leadership lasts, and
// the order to end when it is over.
func (c *conductor) tell(ctx context.Context, over <-chan struct{}, gate *fence.Gate, k *keeper.Keeper) {
	var last fence.Instant
	for {
		moved := gate.Moved()
		if at, open := gate.Deadline(c.door); open && at != last {
			last = at
			k.Deadline(at)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			k.End(c.flags.stopGrace)
			return
		case <-over:
			return
		}
	}
}

// result is how one run of the command ended, as its keeper reported it.
type result struct {
	unstarted error
	gone      *keeper.Report
	abandoned bool
}

func (c *conductor) note(r *result, report keeper.Report) {
	switch report.Kind {
	case keeper.Unstarted:
		r.unstarted = errors.New(report.Error)
	case keeper.Gone:
		r.gone = &report
	case keeper.Overdue:
		c.app.log.Error("THE COMMAND OUTLIVES ITS DEADLINE: something of it can not be killed; leadership is not released before it is gone")
	case keeper.Abandoned:
		r.abandoned = true
		c.app.log.Error("the keeper was killed: the command died with it, killing what is left")
	case keeper.Running:
		c.app.log.Info("the command runs", "pid", report.PID)
	case keeper.Empty:
	}
}

// judge decides what an end of the command means.
func (c *conductor) judge(r result, stopping bool) (again bool, err error) {
	switch {
	case r.unstarted != nil:
		c.finish(usage{r.unstarted})
		return false, r.unstarted
	case stopping && r.gone == nil: // killed together with its keeper, or never begun
		c.finish(exitError(128 + int(syscall.SIGKILL)))
		return false, nil
	case r.abandoned:
		return false, errLost
	case r.gone == nil:
		return false, nil // it never began
	case r.gone.Cause == keeper.Late && !stopping:
		return false, errLate
	case r.gone.Cause == keeper.Ended && !stopping:
		return false, nil // told to by the end of the leadership
	case r.gone.Cause == keeper.Itself && !stopping && c.flags.restart:
		return true, nil
	}
	code := r.gone.Code
	if r.gone.Signal != 0 {
		code = 128 + r.gone.Signal
	}
	c.finish(exitError(code))
	return false, nil
}
