//go:build unix

package payer

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// Callers is how many goroutines have intents accepted at once.
const Callers = 16

// Limit gives a token a policy whose limits nothing reaches, from which each intent of [Payer.AcceptWithin] takes something.
func (p *Payer) Limit(ctx context.Context) error {
	take := pgstore.Reservation{}
	given := pgstore.Policy{Token: "bench", Chain: fmt.Sprintf("evm:%d", p.Node.ChainID), Rules: []byte("{}")}
	for _, what := range []string{pgstore.OfCount, pgstore.OfValue, pgstore.OfFee} {
		given.Limits = append(given.Limits, pgstore.Take{What: what, Amount: new(big.Int).Lsh(big.NewInt(1), 200)})
		take.Takes = append(take.Takes, pgstore.Take{What: what, Amount: big.NewInt(1)})
	}
	if err := p.tables.SetPolicy(ctx, given); err != nil {
		return err
	}
	policy, err := p.tables.Policy(ctx, given.Token, given.Chain)
	take.Token, take.Version = policy.Token, policy.Version
	p.within = take
	return err
}

// Accept has many intents accepted by several callers at once and returns when all are
// committed.
func (p *Payer) Accept(ctx context.Context, many int) error {
	return p.accept(ctx, many, pgstore.Reservation{})
}

// AcceptWithin is like Accept, within the policy of Limit.
func (p *Payer) AcceptWithin(ctx context.Context, many int) error {
	return p.accept(ctx, many, p.within)
}

func (p *Payer) accept(ctx context.Context, many int, take pgstore.Reservation) error {
	faults := make([]error, Callers)
	var group sync.WaitGroup
	for i := range Callers {
		group.Go(func() {
			for n := i; n < many && faults[i] == nil; n += Callers {
				_, faults[i] = p.store.AcceptWithin(ctx, pending.Intent{Account: p.Account, Call: call()}, take)
			}
		})
	}
	group.Wait()
	return errors.Join(faults...)
}

// Sending is a running manager.
type Sending struct {
	payer   *Payer
	manager *pending.Manager
	stop    context.CancelFunc
	ended   chan struct{}
	taken   chan time.Time // when the node answered for a batch; buffers one
	heads   atomic.Int64
	mu      sync.Mutex
	fault   error
}

// Send starts a manager that sends the accepted intents under the token.
func (p *Payer) Send(ctx context.Context, gate *fence.Gate, token fence.Token) (*Sending, error) {
	s := &Sending{payer: p, ended: make(chan struct{}), taken: make(chan time.Time, 1)}
	var err error
	s.manager, err = pending.New(pending.Config{
		Account: p.Account, Chain: &tap{Chain: p.driver, sending: s}, Store: p.store, Sequence: &p.sequence,
		Events: pending.Events{Trouble: s.trouble},
	})
	if err != nil {
		return nil, err
	}
	ctx, s.stop = context.WithCancel(ctx)
	ctx, stopListening := context.WithCancel(ctx)
	go func() {
		defer close(s.ended)
		defer stopListening()
		heard := pgstore.Heard{Waits: func(string, chain.Account) { s.manager.Wake() }, Told: func() {}, Missed: s.manager.Wake}
		go func() { _ = p.tables.Listen(ctx, heard) }()
		s.trouble(s.manager.Lead(ctx, gate, token))
	}()
	return s, nil
}

func (s *Sending) trouble(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil && !errors.Is(err, context.Canceled) {
		s.fault = err
	}
}

// Heads returns the number of blocks seen.
func (s *Sending) Heads() int { return int(s.heads.Load()) }

// Stop ends the manager and returns its first error.
func (s *Sending) Stop() error {
	s.stop()
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// One has one intent accepted and measures until the node has taken its bytes. Nothing else
// may be in progress.
func (s *Sending) One(ctx context.Context) (time.Duration, error) {
	select {
	case <-s.taken: // of an earlier intent
	default:
	}
	began := time.Now()
	if _, err := s.payer.store.Accept(ctx, pending.Intent{Account: s.payer.Account, Call: call()}); err != nil {
		return 0, err
	}
	s.manager.Wake() // as a leading node does that accepts; others are notified by Postgres
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the intent was never sent"))
	defer cancel()
	select {
	case at := <-s.taken:
		return at.Sub(began), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// tap observes the manager's calls to the chain.
type tap struct {
	chain.Chain
	sending *Sending
}

// Submit notes when the node has answered.
func (t *tap) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	outcomes := t.Chain.Submit(ctx, attempts)
	select {
	case t.sending.taken <- time.Now():
	default:
	}
	return outcomes
}

// Inclusions counts blocks: the manager calls it once per block.
func (t *tap) Inclusions(ctx context.Context, block chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	t.sending.heads.Add(1)
	return t.Chain.Inclusions(ctx, block, accounts)
}
