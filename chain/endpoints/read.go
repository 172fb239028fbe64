package endpoints

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/conchhq/conch/chain"
)

// read asks the endpoint that reads stick to, and moves to the next one after an error. An answer that
// there is nothing is one, and no error of the endpoint: only a block that it does not know may be
// known to another.
func read[T any](ctx context.Context, s *Set, ask func(chain.Chain) (T, error)) (got T, err error) {
	var faults []error
	for _, m := range s.order() {
		got, err = ask(m.Chain)
		if err == nil || errors.Is(err, chain.ErrUnproven) {
			m.worked()
			s.stick(m)
			return got, err
		}
		faults = append(faults, fmt.Errorf("%s: %w", m.Name, err))
		if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrThread) {
			continue // another one may know the block; that is no reason to leave this one
		}
		if !s.noteError(ctx, m, err) {
			break
		}
	}
	return got, errors.Join(faults...)
}

// Replay implements chain.Chain. That an endpoint cannot say, since it no longer has the state perhaps, is not held against it.
func (s *Set) Replay(ctx context.Context, from chain.Account, call chain.Call, height uint64) (why string, err error) {
	err = chain.ErrAnswer
	for _, m := range s.order() {
		if why, err = m.Chain.Replay(ctx, from, call, height); err == nil {
			break
		}
	}
	return why, err
}

// Describe implements chain.Chain. An endpoint that does not answer, or serves another chain, is left out
// as long as one is there. Limits are the lowest of all.
func (s *Set) Describe(ctx context.Context) (chain.Description, error) {
	said := make([]chain.Description, len(s.members))
	faults := make([]error, len(s.members))
	var asking sync.WaitGroup
	for i, m := range s.members {
		asking.Go(func() { said[i], faults[i] = m.Chain.Describe(ctx) })
	}
	asking.Wait()
	var sum chain.Description
	for i, m := range s.members {
		if faults[i] == nil {
			said[i].By = m.Name
			faults[i] = s.compare(&sum, said[i])
		}
		if faults[i] == nil {
			m.worked()
			continue
		}
		s.noteError(ctx, m, faults[i])
		faults[i] = fmt.Errorf("%s: %w", m.Name, faults[i])
		if errors.Is(faults[i], chain.ErrFinality) {
			return chain.Description{}, faults[i] // its word would end transactions
		}
	}
	if sum.ID == "" {
		return sum, errors.Join(faults...)
	}
	return sum, nil
}

// compare adds one description to the sum, or returns an error if it is of another chain.
func (s *Set) compare(sum *chain.Description, one chain.Description) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.Genesis != "" && s.genesis == "" {
		s.genesis = one.Genesis
	}
	switch {
	case one.Genesis != "" && one.Genesis != s.genesis:
		return fmt.Errorf("%w: its block 0 is %v, that of the others is %v", chain.ErrForeign, one.Genesis, s.genesis)
	case sum.ID == "":
		*sum = one
		return nil
	case one.ID != sum.ID:
		return fmt.Errorf("%w: it is %s, the others are %s", chain.ErrForeign, one.ID, sum.ID)
	}
	sum.MaxBatch, sum.BlockGas = lowest(sum.MaxBatch, one.MaxBatch), lowest(sum.BlockGas, one.BlockGas)
	sum.MaxPending, sum.MinRaise = lowest(sum.MaxPending, one.MaxPending), max(sum.MinRaise, one.MinRaise)
	sum.Era, sum.NoIndex = lowest(sum.Era, one.Era), sum.NoIndex || one.NoIndex
	sum.Lives = sum.Lives || one.Lives
	sum.By += ", " + one.By
	return nil
}

// lowest returns the lower of two limits, of which 0 is none.
func lowest[T int | uint64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Next implements chain.Chain.
func (s *Set) Next(ctx context.Context, a chain.Account) (uint64, error) {
	return read(ctx, s, func(c chain.Chain) (uint64, error) { return c.Next(ctx, a) })
}

// Block implements chain.Chain.
func (s *Set) Block(ctx context.Context, hash chain.Hash) (chain.Block, error) {
	return read(ctx, s, func(c chain.Chain) (chain.Block, error) { return c.Block(ctx, hash) })
}

// Version implements chain.Chain.
func (s *Set) Version(ctx context.Context, of chain.Block) (string, error) {
	return read(ctx, s, func(c chain.Chain) (string, error) { return c.Version(ctx, of) })
}

// Counts implements chain.Chain.
func (s *Set) Counts(ctx context.Context, accounts []chain.Account) ([]uint64, error) {
	return read(ctx, s, func(c chain.Chain) ([]uint64, error) { return c.Counts(ctx, accounts) })
}

// Prepare implements chain.Chain.
func (s *Set) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	return read(ctx, s, func(c chain.Chain) ([]chain.Prepared, error) { return c.Prepare(ctx, drafts) })
}

// Probe implements chain.Chain.
func (s *Set) Probe(ctx context.Context, hashes []chain.Hash) ([]chain.Sighting, error) {
	return read(ctx, s, func(c chain.Chain) ([]chain.Sighting, error) { return c.Probe(ctx, hashes) })
}

// Scan implements chain.Chain.
func (s *Set) Scan(ctx context.Context, of chain.Block, a chain.Account, from uint64, most int) ([]chain.Inclusion, uint64, error) {
	next := from
	found, err := read(ctx, s, func(c chain.Chain) (found []chain.Inclusion, err error) {
		found, next, err = c.Scan(ctx, of, a, from, most)
		return found, err
	})
	return found, next, err
}

// Prove implements chain.Chain.
func (s *Set) Prove(ctx context.Context, in chain.Inclusion) (chain.Draft, error) {
	return read(ctx, s, func(c chain.Chain) (chain.Draft, error) { return c.Prove(ctx, in) })
}

// Linked implements chain.Chain.
func (s *Set) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) ([]bool, error) {
	return read(ctx, s, func(c chain.Chain) ([]bool, error) { return c.Linked(ctx, of, blocks) })
}

// Inclusions implements chain.Chain.
func (s *Set) Inclusions(ctx context.Context, block chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	return read(ctx, s, func(c chain.Chain) ([]chain.Inclusion, error) { return c.Inclusions(ctx, block, accounts) })
}

// Pooled implements chain.Chain. It returns the highest answer: one pool may have what others lack.
func (s *Set) Pooled(ctx context.Context, a chain.Account) (highest uint64, err error) {
	answers := 0
	for _, m := range s.members {
		n, fault := m.Chain.Pooled(ctx, a)
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", m.Name, fault))
			continue
		}
		answers++
		highest = max(highest, n)
	}
	if answers > 0 {
		return highest, nil
	}
	return 0, errors.Join(err, chain.ErrAnswer)
}
