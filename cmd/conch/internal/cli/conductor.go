//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// conductor is the service of the one role of a run. Unlike a node it has a terminal, forwards
// signals to its command, and ends with the command's exit code.
type conductor struct {
	node.Plain
	app     *app
	flags   runFlags
	command []string
	frame   node.Frame
	tty     *terminalOf

	ending  context.Context // ends when conch is asked to end: the command is not started any more
	end     context.CancelFunc
	endNode context.CancelFunc

	mu     sync.Mutex
	keeper *keeper.Keeper // nil while no command runs
	begun  atomic.Bool    // its keeper has reported that it runs
	ran    bool           // it has run; read it when the keeper is done

	tell func(election.Fact)   // for a person at a terminal; may be nil
	led  bool                  // this process has led; of the elector's goroutine
	over atomic.Pointer[error] // the end of a run that does not wait, or of a call of a cron
}

// run campaigns until the command has ended for good or a signal asks for it.
func (c *conductor) run(ctx context.Context, cfg config.Config) error {
	// Signals are for the command first: conch ends when the command has ended.
	campaign, endNode := context.WithCancel(context.WithoutCancel(ctx))
	defer endNode()
	c.endNode = endNode
	c.ending, c.end = context.WithCancel(campaign)
	if !c.flags.isolate { // inside the namespace, our process group has no number
		c.tty = openTerminal()
	}
	defer c.tty.close()
	quiet := c.listen()
	defer quiet()
	keeper.ReapAdopted()
	if ctx.Err() != nil {
		return nil // asked to end before the start
	}
	if t := c.flags.turn; t == nil {
		c.tell = c.app.announce(ctx, cfg.Election.ID)
	} else {
		defer t.limit(c.quit).Stop()
	}
	err := node.Run(campaign, node.Options{
		Config: cfg, Version: c.app.Build.Version, Log: c.app.Log, LostLines: c.app.spool.Lost, Fact: c.fact,
		Kinds: []node.Kind{{
			Section: func() config.Section { return oneRole{} },
			Open:    func(f node.Frame) node.Service { c.frame = f; return c },
		}},
	})
	if over := c.over.Load(); over != nil {
		return *over
	}
	return err
}

// fact tells a person what happens. It ends a run that does not wait, once another one leads, or a first bid fails, and a call of a cron whose
// slot another one has.
func (c *conductor) fact(f election.Fact) {
	if c.tell != nil {
		c.tell(f)
	}
	c.led = c.led || f.Kind == election.Acquired
	switch {
	case c.flags.turn != nil:
		c.flags.turn.fact(f, c.quit)
	case !c.flags.noWait:
	case f.Kind == election.Following:
		c.quit(failure{fmt.Errorf("%s leads %q, and --no-wait waits for nobody", f.Holder, f.Scope), anotherLeads})
	case f.Kind == election.Blocked:
		c.quit(failure{fmt.Errorf("nobody leads %q, but acts of its last leader hold its fence, and --no-wait waits for nobody", f.Scope), unknowable})
	case !c.led && (f.Kind == election.Retrying || f.Kind == election.Barred):
		c.quit(unknownLeader(c.flags.scope, f.Err))
	}
}

func (c *conductor) quit(end error) {
	c.over.CompareAndSwap(nil, &end)
	c.endNode()
}

// Work implements node.Service. The role runs the command; once that has ended for good, so does the node.
func (c *conductor) Work(r config.Role, _ func(error)) (node.Work, func(context.Context)) {
	door := fence.Act
	if r.Fenced {
		door = fence.Fenced
	}
	database, hidden := CommandDatabase(c.flags.cmdDB, c.frame.Database.URL)
	s := keeper.Supervision{
		Config: keeper.Config{
			Options: keeper.Options{Command: c.command, Grace: c.flags.killGrace, Group: c.tty.group(), Isolate: c.flags.isolate, User: c.flags.user},
			Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Report: c.note,
		},
		Log: c.frame.Log, ID: c.frame.ID, Database: database, Hidden: hidden, Door: door, Within: c.flags.stopGrace,
		Restart: c.flags.restart, Ending: c.ending.Done(), OnStart: c.onStart,
	}
	return func(ctx context.Context, l election.Leadership) error {
		if t := c.flags.turn; t != nil {
			return c.takeTurn(ctx, l, t, s)
		}
		v := keeper.Supervise(ctx, l, s)
		if v.Final || v.Unstarted != nil {
			return c.final(v)
		}
		return v.Err
	}, nil
}

// final ends the node with its command.
func (c *conductor) final(v keeper.Verdict) *node.FinalError {
	if v.Unstarted != nil {
		return &node.FinalError{Result: c.flags.unstarted(v.Unstarted), Why: v.Why}
	}
	return &node.FinalError{Result: ExitError(v.Code), Why: v.Why}
}

// onStart makes k the keeper that gets signals.
func (c *conductor) onStart(k *keeper.Keeper) (onEnd func()) {
	set := func(k *keeper.Keeper) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.keeper = k
	}
	set(k)
	return func() {
		set(nil)
		c.tty.restore()
	}
}

// note records whether a command runs, which may have had a signal from the terminal.
func (c *conductor) note(r keeper.Report) {
	if r.Kind == keeper.Running || r.Kind == keeper.Empty {
		c.begun.Store(r.Kind == keeper.Running)
		c.ran = c.ran || r.Kind == keeper.Running
	}
}

// oneRole is the configuration of a run, whose role is not read from a file.
type oneRole struct{ role config.Role }

func (oneRole) Table() string                                 { return "run" }
func (o oneRole) Roles() []config.Role                        { return []config.Role{o.role} }
func (oneRole) Keys(*config.Decoder) map[string]config.Setter { return nil }
func (oneRole) Settle(*config.Decoder, config.Config)         {}
func (oneRole) Validate(*config.Decoder, config.Config)       {}
