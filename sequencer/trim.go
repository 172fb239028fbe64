package sequencer

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"
)

const (
	sweepEvery    = time.Minute // the store is asked what has ended, or ten times in the shortest span
	mostForgotten = 500         // intents, and as many attempts, at once: writes wait meanwhile
	mostSwept     = 200         // contracts at once
	share         = 5           // at most one part of so many of the writer's time goes to it
)

// sweep is a round over the contracts, whose store forgets a little at a time what has ended. It belongs to the writer.
type sweep struct {
	ages  []map[string]time.Duration
	at    int
	every time.Duration
	timer *time.Timer // of the next step
}

func newSweep(contracts []Contract) *sweep {
	s := &sweep{every: sweepEvery}
	part := map[string]time.Duration{}
	for _, k := range contracts {
		age := k.age()
		if age < 0 {
			continue
		}
		s.every = max(min(s.every, age/10), time.Millisecond)
		if part[k.Declared.Address] = age; len(part) == mostSwept {
			s.ages, part = append(s.ages, part), map[string]time.Duration{}
		}
	}
	if len(part) > 0 {
		s.ages = append(s.ages, part)
	}
	s.timer = time.NewTimer(s.every)
	if len(s.ages) == 0 {
		s.timer.Stop()
	}
	return s
}

// age is how long what has ended is kept; below 0 it is for ever.
func (k *Contract) age() time.Duration { return cmp.Or(k.ForgetAfter, DefaultForgetAfter) }

// trim does a step, and says when the next one is. What fails is tried again with the next round.
func (n *Node) trim(s *sweep) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(n.ctx, later)
	defer cancel()
	gone, err := n.cfg.Store.Trim(ctx, s.ages[s.at], mostForgotten)
	n.forgotten.intents.Add(int64(gone.Intents))
	n.forgotten.attempts.Add(int64(gone.Attempts))
	pause := max(share*time.Since(began), time.Millisecond)
	switch {
	case n.ctx.Err() != nil:
		return
	case errors.Is(err, ErrOver):
		n.end(err)
		return
	case err != nil:
		n.cfg.Log.Warn("what has ended is not forgotten", "error", err)
		s.at, pause = 0, s.every
	case gone.Intents == mostForgotten || gone.Attempts == mostForgotten: // there is more
	case s.at+1 < len(s.ages):
		s.at++
	default:
		s.at, pause = 0, s.every
	}
	s.timer.Reset(pause)
}

// forgotten counts what was forgotten since the node's start.
type forgotten struct{ intents, attempts atomic.Int64 }

// Alone returns how many intents were told as done since the node's start while no other member had said that it keeps their
// contents.
func (n *Node) Alone() int { return int(n.alone.Load()) }

// Forgotten returns how many intents and contents of attempts the store has forgotten since the node's start.
func (n *Node) Forgotten() Trimmed {
	return Trimmed{Intents: int(n.forgotten.intents.Load()), Attempts: int(n.forgotten.attempts.Load())}
}
