//go:build unix

package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

const cronHelp = `cron runs CMD once for each slot, on one of the machines in whose crontabs it is:
the first that calls. The others end at once, silently and with 0, since cron mails
each line. There is no daemon; the database decides, and no machine's clock is read.

A slot is free if the last one was taken at least nine tenths of a slot ago, by the
database's clock. So all machines call at the same times, the clocks of two of them
differ by less than a tenth of a slot, and the slot is the time between two calls of
a crontab, the shortest one if they differ: 5m for */5 * * * *, 24h for 0 3 * * *.

CMD runs while conch leads the scope, under the keeper of "conch run", with the same
variables. Give each cron a scope of its own, and let nothing else lead it: a CMD that
takes longer than its slot is skipped on all machines. If another program leads the
scope, CMD is never run: once that has led for a whole slot, each call names it and
ends with 1. The row of the scope in conch.slots says who has the slot, and how CMD
has ended.

A slot is had once CMD begins. If its machine dies then, nobody repeats it, and the
next slot says so in one line. With --retry a call repeats, in the same slot, what has
failed or was cut off: CMD runs at least once, and perhaps twice. Such a call waits for
--within while another machine runs CMD; a crontab that calls more often than once in
a slot repeats later, too.

conch waits for the database, for the acts of a former leader and for the lease of one
that has died, and gives up after --within: then it exits with 69 and one sentence, and
the slot is free for the next call. It exits with CMD's code, with 127 if there is no
such command, and with 1 if CMD was ended because leadership was lost.`

const cronExample = `  conch cron --scope report --slot 1h --user reports --cmd-db none -- ./report
  */5 * * * *  conch cron --scope rates --slot 5m -- ./fetch-rates
  0 3 * * *    conch cron --scope backup --slot 24h --within 10m --retry -- ./backup.sh`

// Bounds of --slot and --within: cron calls once a minute at most, and a lease has to fit in.
const (
	shortestSlot  = 10 * time.Second
	longestSlot   = 366 * 24 * time.Hour
	longestWithin = 30 * time.Second // unless asked for
)

func (a *app) cron() *cobra.Command {
	f := runFlags{takeover: string(mint.Strict), locks: string(pgmint.SessionLocks)}
	var slot, within time.Duration
	var retry bool
	cmd := &cobra.Command{
		Use:     "cron --scope S --slot 5m [flags] -- CMD ARG…",
		Short:   "run a command once, which the crontabs of several machines call",
		Long:    cronHelp,
		Example: cronExample,
		Args:    keptCommand,
	}
	flags := cmd.Flags()
	f.keeps(flags)
	flags.DurationVar(&slot, "slot", 0, "the `time` between two calls of a crontab")
	flags.DurationVar(&within, "within", 0, "how late CMD may still begin; default a tenth of the slot, 30s at most")
	flags.BoolVar(&retry, "retry", false, "run CMD again in the same slot if it has failed or was cut off")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		began := time.Now()
		return Does(func(ctx context.Context) error {
			if !cmd.Flags().Changed("within") {
				within = min(slot/10, longestWithin)
			}
			switch {
			case !cmd.Flags().Changed("slot"):
				return Usagef("cron needs --slot, the time between two calls of a crontab: conch cron --scope %s --slot 5m -- CMD", f.scope)
			case slot < shortestSlot || slot > longestSlot:
				return Usagef("--slot %s is not between %s and %s", slot, shortestSlot, longestSlot)
			case within <= 0 || within > slot/2:
				return Usagef("--within %s is not between 0s and half of the slot, %s: a later call would be one of the next slot", within, slot/2)
			}
			f.turn = &turn{scope: f.scope, within: within, began: began, call: Call{Length: slot, Again: retry}}
			_, _ = rand.Read(f.turn.call.ID[:]) // never fails since Go 1.24
			return a.conduct(ctx, cmd, f, args)
		})(cmd, nil)
	}
	return lasting(cmd)
}

// turn is a call of a cron: it takes the slot and runs the command, or neither.
type turn struct {
	scope  string
	slots  Slots
	call   Call
	within time.Duration
	began  time.Time

	stage  atomic.Int32
	led    atomic.Bool           // another one leads, as far as is known
	unsure atomic.Bool           // the slot may be this call's already
	hurdle atomic.Pointer[error] // what is waited for
}

// The stages of a turn. Only a turn that waits can be given up from outside.
const (
	waits int32 = iota
	begins
	gone
)

func (t *turn) left() time.Duration { return t.within - time.Since(t.began) }

// limit has the turn given up when its time is over.
func (t *turn) limit(quit func(error)) *time.Timer {
	return time.AfterFunc(t.left(), func() {
		if t.stage.CompareAndSwap(waits, gone) {
			quit(t.end())
		}
	})
}

// end is the end of a turn whose time is over.
func (t *turn) end() error {
	if t.led.Load() && !t.unsure.Load() {
		return nil // another one has run the command all the while
	}
	why := errors.New("nobody has led it yet")
	if hurdle := t.hurdle.Load(); hurdle != nil {
		why = *hurdle
	}
	return t.late(why)
}

// passed is the end of a turn whose scope another one leads: silence, unless that is no cron, so that the command would never be run.
func (t *turn) passed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(t.left(), strangerPatience))
	defer cancel()
	says, err := t.slots.Stranger(ctx, t.scope, t.call.Length)
	if err != nil || says == "" {
		return nil // another one leads, which is all that is known
	}
	return failure{errors.New(says), Failed}
}

// strangerPatience is how long a call asks who leads.
const strangerPatience = 2 * time.Second

func (t *turn) late(why error) error {
	return failure{fmt.Errorf("the command of %q was not run, since its slot could not be taken within %s: %s", t.scope, t.within, pgmint.Sentence(why)), unknowable}
}

// unasked is the end where the database refuses, which will not pass.
func (t *turn) unasked(why error) error {
	return failure{fmt.Errorf("whether the slot of %q is free cannot be known, and the command was not run: %s", t.scope, pgmint.Sentence(why)), unknowable}
}

// reach waits for the database.
func (t *turn) reach(ctx context.Context, ready func(context.Context) (pgmint.Config, error)) (at pgmint.Config, err error) {
	err = t.repeat(ctx, func(attempt context.Context) error {
		at, err = ready(attempt)
		return err
	})
	_, wrongly := errors.AsType[usage](err)
	switch {
	case err == nil, wrongly, ctx.Err() != nil:
		return at, err
	case passes(err):
		return at, t.late(err)
	}
	return at, t.unasked(err)
}

// passes reports whether a call is repeated that has failed so.
func passes(err error) bool {
	return err != nil && (mayPass(err) || errors.Is(err, context.DeadlineExceeded))
}

// Pauses between attempts.
const (
	firstAttempt  = 20 * time.Millisecond
	latestAttempt = time.Second
)

// repeat calls f until it has an answer, or the turn's time or ctx is over.
func (t *turn) repeat(ctx context.Context, f func(context.Context) error) (err error) {
	pauses := pause.Growing{First: firstAttempt, Most: latestAttempt}
	for {
		attempt, cancel := context.WithTimeout(ctx, max(t.left(), time.Second))
		err = f(attempt)
		cancel()
		if err == nil || !passes(err) || ctx.Err() != nil || t.left() <= 0 {
			return err
		}
		timer := time.NewTimer(min(pauses.Next(), t.left()))
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// fact notes what the turn waits for. While another one leads, only a turn waits that may repeat its command, or may have its slot.
func (t *turn) fact(f election.Fact, quit func(error)) {
	switch f.Kind {
	case election.Following:
		t.led.Store(true)
		if !t.call.Again && !t.unsure.Load() && t.stage.CompareAndSwap(waits, gone) {
			quit(nil)
		}
	case election.Blocked:
		t.waitFor(errors.New("acts of its last leader hold its fence"))
	case election.Retrying, election.Barred:
		t.waitFor(f.Err)
	case election.Acquired:
		t.waitFor(errors.New("the lease of its last leader is not over"))
	}
}

func (t *turn) waitFor(why error) {
	t.led.Store(false)
	t.hurdle.Store(&why)
}

// takeTurn takes the slot and runs the command once, if the slot is free. The node ends then, unless the leadership was lost before.
func (c *conductor) takeTurn(ctx context.Context, l election.Leadership, t *turn, s keeper.Supervision) error {
	if !t.stage.CompareAndSwap(waits, begins) {
		return nil
	}
	taken, note, err := t.begin(ctx, l.Token)
	switch {
	case errors.Is(err, fence.ErrStale) || err != nil && ctx.Err() != nil:
		t.waitFor(err)
		if t.stage.Store(waits); t.left() > 0 {
			return err
		}
		return &node.FinalError{Result: t.end()}
	case passes(err):
		return &node.FinalError{Result: t.late(err)}
	case err != nil:
		return &node.FinalError{Result: t.unasked(err)}
	case !taken:
		return &node.FinalError{}
	case note != "":
		c.app.tell("conch: %s", note)
	}
	v := keeper.Supervise(ctx, l, s)
	if !v.Final && v.Unstarted == nil {
		why := v.Err
		if why == nil {
			why = context.Cause(ctx)
		}
		return &node.FinalError{Result: failure{fmt.Errorf("the command of %q was ended before it was done: %w", t.scope, why), Failed}, Why: why}
	}
	switch {
	case v.Unstarted != nil:
		c.noteEnd(ctx, l.Token, t, notFound)
	case c.ran:
		c.noteEnd(ctx, l.Token, t, v.Code)
	}
	return c.final(v)
}

// begin takes the slot. It repeats what had no answer: the call keeps what it has taken.
func (t *turn) begin(ctx context.Context, token fence.Token) (taken bool, note string, err error) {
	err = t.repeat(ctx, func(attempt context.Context) error {
		c := t.call
		c.Waited = time.Since(t.began)
		taken, note, err = t.slots.Begin(attempt, token, c)
		t.unsure.Store(err != nil && (t.unsure.Load() || !errors.Is(err, fence.ErrStale)))
		return err
	})
	return taken, note, err
}

// endPatience is how long the scope is led on for a note of how its command has ended.
const endPatience = 5 * time.Second

// noteEnd notes how the command has ended.
func (c *conductor) noteEnd(ctx context.Context, token fence.Token, t *turn, code int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	if err := t.slots.End(ctx, token, t.call, code); err != nil {
		c.app.Log.Warn("how the command has ended could not be noted: the next call takes it for one that was cut off", slog.String("scope", t.scope), slog.Any("error", err))
	}
}
