package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule/pgstore"
)

// errTaken says that another scheduler has run the job, or runs it.
var errTaken = errors.New("another scheduler has this slot")

// locker has each time of a job run by one of several schedulers: the first whose clock says so.
type locker struct {
	mint   mint.Mint
	slots  *pgstore.Store
	slot   time.Duration // between two times of the job
	within time.Duration // how late the job may still begin
}

// lock is a job that runs. The scope of the job is led meanwhile.
type lock struct {
	done  chan struct{} // closed when the job has ended
	ended chan error    // what came of it
}

// Lock implements gocron.Locker. The key is the name of the job.
func (l locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	called := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(l.within, func() { cancel(fmt.Errorf("the slot of %s could not be taken within %s", key, l.within)) })
	k := lock{done: make(chan struct{}), ended: make(chan error, 1)}
	taken := make(chan struct{})
	go func() {
		defer cancel(nil)
		k.ended <- pgmint.TryDo(ctx, l.mint, "gocron/"+key, func(ctx context.Context, lead election.Leadership) error {
			call := pgstore.NewCall()
			if err := l.take(ctx, lead.Token, call, called); err != nil {
				return err
			}
			if !late.Stop() {
				return context.Cause(ctx) // it is too late: the slot is had, and nobody has run the job
			}
			close(taken)
			<-k.done // even if the leadership is lost: the job cannot be stopped, and has to fence what it writes
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return l.slots.EndSlot(ctx, lead.Token, call, 0)
		})
	}()
	select {
	case <-taken:
		return k, nil
	case err := <-k.ended:
		late.Stop()
		return nil, err
	}
}

// take takes the slot. What had no answer is asked again: the call keeps what it has taken.
func (l locker) take(ctx context.Context, t fence.Token, call [16]byte, called time.Time) error {
	for {
		turn, err := l.slots.BeginSlot(ctx, t, pgstore.Slot{Call: call, Length: l.slot, Waited: time.Since(called)})
		switch {
		case err == nil && turn.Taken:
			return nil
		case err == nil:
			return errTaken
		case errors.Is(err, fence.ErrStale) || ctx.Err() != nil:
			return err
		}
		slog.Warn("the slot has no answer", "error", err)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// Unlock implements gocron.Lock.
func (k lock) Unlock(context.Context) error {
	close(k.done)
	return <-k.ended
}
