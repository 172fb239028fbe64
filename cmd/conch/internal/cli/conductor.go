//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

// Pauses before a command is started again, doubled each time until it has run
// for a while.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
	settled      = 10 * time.Second
)

// conductor runs one command under a keeper, over and over, while it leads.
type conductor struct {
	app      *app
	flags    runFlags
	id       string
	database pgmint.Config
	command  []string
	door     fence.Door
	tty      *terminalOf

	campaign context.Context
	stop     context.CancelCauseFunc // ends the campaign; the history shows the cause

	mu       sync.Mutex
	keeper   *keeper.Keeper // nil while no command runs
	begun    atomic.Bool    // its keeper has said that it runs
	stopping bool           // conch was asked to end
	outcome  error          // what run returns
}

// run campaigns until the command has ended for good or a signal asks for it.
func (c *conductor) run(ctx context.Context, elector *election.Elector) error {
	// Signals are the command's first: conch ends when the command has.
	c.campaign, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	defer c.stop(nil)
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
	obeying.Go(func() { pgops.Obey(c.campaign, c.database, c.id, elector) })
	err := elector.Run(c.campaign)
	c.stop(nil)
	obeying.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcome != nil {
		return c.outcome
	}
	return err
}

// finish ends the campaign: conch is to end like this, and why is for the history.
func (c *conductor) finish(outcome, why error) {
	c.mu.Lock()
	c.outcome = outcome
	c.mu.Unlock()
	c.stop(why)
}

// role runs the command until leadership ends or the command does. It returns only
// when nothing of the command is left: then, and only then, may it be released.
func (c *conductor) role(ctx context.Context, l election.Leadership) error {
	pause := firstPause
	for {
		began := time.Now()
		again, err := c.once(ctx, l)
		if c.campaign.Err() != nil {
			<-ctx.Done() // the end of the campaign gives a better reason than our return
		}
		if !again || ctx.Err() != nil {
			return err
		}
		if time.Since(began) > settled {
			pause = firstPause
		}
		c.app.Log.Warn("the command ended and is started again", "in", pause)
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
	out := keeper.Outcome{Log: c.app.Log}
	k, err := c.start(l, &out)
	if err != nil || k == nil {
		return false, err
	}
	k.Follow(ctx, l, c.door, c.flags.stopGrace)
	c.mu.Lock()
	c.keeper = nil
	stopping := c.stopping
	c.mu.Unlock()
	c.tty.restore()
	v := judge(&out, stopping, c.flags.restart)
	if v.over {
		c.finish(v.outcome, v.why)
	}
	return v.again, v.err
}

// start starts the keeper, unless conch was asked to end meanwhile.
func (c *conductor) start(l election.Leadership, out *keeper.Outcome) (*keeper.Keeper, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil, nil
	}
	c.begun.Store(false)
	k, err := keeper.Keep(keeper.Config{
		Options: keeper.Options{Command: c.command, Grace: c.flags.killGrace, Group: c.tty.group(), Isolate: c.flags.isolate},
		Env:     append(os.Environ(), keeper.Environ(l.Token, c.id, c.database.URL)...),
		Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Report: func(r keeper.Report) {
			if r.Kind == keeper.Running {
				c.begun.Store(true)
			}
			out.Note(r)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("starting the keeper: %w", err)
	}
	c.keeper = k
	return k, nil
}
