package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

const lookEvery = 300 * time.Millisecond

// Followed is something on its way at a node, whose end a command waits for.
type Followed struct {
	ID          string
	Interrupted string // what is said when the wait is interrupted
	// Look returns what has happened, the newest last, and once it has ended, how the command ends. The steps have been
	// printed by then.
	Look func(ctx context.Context) (steps []string, end func() error, err error)
}

// Follow waits until something has ended, with a line on stderr for each step. While no node answers it keeps asking, since
// the thing is on its way all the same.
func (s *Shell) Follow(ctx context.Context, f Followed) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	said, away := "", false
	for {
		steps, end, err := f.Look(ctx)
		switch {
		case err == nil:
			for _, step := range unsaid(steps, said, away) {
				said = step
				s.Say("%s %s", f.ID, step)
			}
			if away = false; end != nil {
				return end()
			}
		case !Passing(err):
			return fmt.Errorf("%w; the transaction is %s", err, f.ID)
		case !away && ctx.Err() == nil:
			away = true
			s.Say("%s: its state is unknown now and is asked again: %s", f.ID, Sentence(err.Error()))
		}
		select {
		case <-ctx.Done():
			return errors.New("interrupted" + f.Interrupted)
		case <-look.C:
		}
	}
}

// Sends is [Client.Send]. With wait it goes on until a node answers: all requests with a key are one.
func (s *Shell) Sends(ctx context.Context, c *Client, wait bool, path, key string, body any) (id string, err error) {
	for said := false; ; said = true {
		id, err = c.Send(ctx, path, key, body)
		if !wait || !Passing(err) || ctx.Err() != nil {
			return id, err
		}
		if !said {
			s.Say("%s; it is asked again", Sentence(err.Error()))
		}
		_ = pause.For(ctx, lookEvery)
	}
}

// unsaid returns the steps after the one that was said last; all of them if that is not there any more, since the node has
// started again. After the node was away the last one is said once more.
func unsaid(steps []string, said string, away bool) []string {
	for i, step := range slices.Backward(steps) {
		if step != said {
			continue
		}
		if away && i == len(steps)-1 {
			return steps[i:]
		}
		return steps[i+1:]
	}
	return steps
}
