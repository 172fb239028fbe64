//go:build unix

package bench

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/payer"
	"github.com/conchhq/conch/fence"
)

// told measures from a final state in the rows until a receiver of webhooks has it, and how many events a second it takes while another one is silent,
// beside the same alone.
func (a *account) told(ctx context.Context, r *Report) error {
	many := a.cfg.amounts().intents / 4
	a.cfg.Say("pending: receivers are told of %d transactions, one as they come, one alone and one beside another that is silent …", many)
	gate, token, stop, err := lead(ctx, a.site.url, "webhooks:bench")
	if err != nil {
		return err
	}
	defer stop()
	var all [4]*payer.Receiver
	for i, name := range []string{"as-they-come", "alone", "beside", "silent"} {
		if all[i], err = payer.Receive(name, name == "silent"); err != nil {
			return err
		}
		defer all[i].Close()
		if err := a.payer.Open(ctx, token, all[i]); err != nil {
			return err
		}
	}
	if err := a.telling(ctx, gate, token, all[:1], func() error {
		if _, err := a.send(ctx, many, a.payer.Accept); err != nil {
			return err
		}
		return until(ctx, "each final state was told", func() (bool, error) {
			_, finals := all[0].Got()
			return len(finals) >= many, nil
		})
	}); err != nil {
		return err
	}
	events, finals := all[0].Got()
	if err := a.lateness(ctx, r, finals); err != nil {
		return err
	}
	var alone, beside float64
	for _, c := range []struct {
		to    *float64
		whose []*payer.Receiver
	}{{&alone, all[1:2]}, {&beside, all[2:4]}} {
		began := time.Now()
		if err := a.telling(ctx, gate, token, c.whose, func() error {
			return until(ctx, "what has happened was told", func() (bool, error) {
				n, _ := c.whose[0].Got()
				return n >= events, nil
			})
		}); err != nil {
			return err
		}
		*c.to = perSecond(events, began)
	}
	r.beside("told_beside_a_silent_one", beside, alone, "events/s")
	return nil
}

// lateness reports how long final states have taken to their POSTs: from the commit on, before which nobody can read them, if the server keeps the times of
// commits; and from when they were written, which the rest of a block's transaction and the commit follow.
func (a *account) lateness(ctx context.Context, r *Report, finals []payer.Final) error {
	commits, err := a.site.admin.EventCommits(ctx)
	if err != nil {
		return err
	}
	var committed, written []time.Duration
	for _, f := range finals {
		written = append(written, f.Came.Sub(f.At))
		if at, is := commits[f.ID]; is {
			committed = append(committed, f.Came.Sub(at))
		}
	}
	if len(committed) == len(finals) {
		r.spread("final_to_told", committed, nil)
	}
	r.spread("final_written_to_told", written, nil)
	return nil
}

// telling tells receivers while do runs.
func (a *account) telling(ctx context.Context, gate *fence.Gate, token fence.Token, whose []*payer.Receiver, do func() error) error {
	stop, err := a.payer.Tell(ctx, gate, token, whose...)
	if err != nil {
		return err
	}
	return errors.Join(do(), stop())
}
