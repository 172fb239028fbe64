package feed

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
)

// mostBlocks is how many blocks are remembered as they were read.
const mostBlocks = 64

// blocks has what was read of the newest blocks.
type blocks struct {
	mu    sync.Mutex
	known []chain.Account // a block is read for all of them
	read  map[chain.Hash]*reading
	order []chain.Hash // by arrival
}

func (s *blocks) add(a chain.Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.known, a) {
		s.known = append(s.known, a)
	}
}

// reading is one block, for some accounts.
type reading struct {
	*question[[]chain.Inclusion]
	accounts map[chain.Account]bool
	failures int // of the readings before this one
}

// failTogether is how often a block is read for all before each account asks for itself: what is missing may be
// another account's.
const failTogether = 3

// inclusions returns what the accounts have in a block.
func (f *Feed) inclusions(ctx context.Context, b chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	r := f.reading(b, accounts)
	if r.failures >= failTogether {
		return f.chain.Inclusions(ctx, b, accounts)
	}
	found, err := r.wait(ctx)
	if err != nil {
		return nil, err
	}
	var ours []chain.Inclusion
	for _, in := range found {
		if slices.Contains(accounts, in.Account) {
			ours = append(ours, in)
		}
	}
	return ours, nil
}

// reading returns the reading of a block that has these accounts. It begins one if there is none, or it failed.
func (f *Feed) reading(b chain.Block, accounts []chain.Account) *reading {
	s := &f.blocks
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.read[b.Hash]
	failures := 0
	if r != nil {
		_, failed := r.answered()
		if failures = r.failures; failed {
			failures++
		}
		if failures >= failTogether {
			r.failures = failures
			return r
		}
		if !failed && !slices.ContainsFunc(accounts, func(a chain.Account) bool { return !r.accounts[a] }) {
			return r
		}
	} else {
		s.order = append(s.order, b.Hash)
	}
	r = &reading{accounts: map[chain.Account]bool{}, failures: failures}
	var all []chain.Account
	for _, a := range slices.Concat(accounts, s.known) {
		if !r.accounts[a] {
			r.accounts[a] = true
			all = append(all, a)
		}
	}
	r.question = ask(f, func(ctx context.Context) ([]chain.Inclusion, error) { return f.chain.Inclusions(ctx, b, all) })
	s.read[b.Hash] = r
	if len(s.order) > mostBlocks {
		delete(s.read, s.order[0])
		s.order = s.order[1:]
	}
	return r
}

// counts gathers questions for next nonces: while one request is under way, the accounts of the next one come
// together.
type counts struct {
	mu      sync.Mutex
	asking  bool
	waiting map[chain.Account][]chan counted
}

type counted struct {
	next uint64
	err  error
}

func (f *Feed) count(ctx context.Context, a chain.Account) (uint64, error) {
	answer := make(chan counted, 1)
	c := &f.counts
	c.mu.Lock()
	if c.waiting == nil {
		c.waiting = map[chain.Account][]chan counted{}
	}
	c.waiting[a] = append(c.waiting[a], answer)
	if !c.asking {
		c.asking = true
		f.work.Go(f.askCounts)
	}
	c.mu.Unlock()
	select {
	case got := <-answer:
		return got.next, got.err
	case <-ctx.Done():
		return 0, late(ctx)
	}
}

// mostCounts is how many accounts one request asks for: on a small budget each has its answer within some seconds.
const mostCounts = 50

// askCounts asks for all that wait, until none does.
func (f *Feed) askCounts() {
	c := &f.counts
	for {
		c.mu.Lock()
		waiting := c.waiting
		c.waiting, c.asking = nil, len(waiting) > 0
		c.mu.Unlock()
		if len(waiting) == 0 {
			return
		}
		for part := range slices.Chunk(slices.Collect(maps.Keys(waiting)), mostCounts) {
			f.answerCounts(waiting, part)
		}
	}
}

// answerCounts asks for the counts of some accounts, and of each alone if one of them may be why there was none.
func (f *Feed) answerCounts(waiting map[chain.Account][]chan counted, accounts []chain.Account) {
	ctx, cancel := context.WithTimeout(f.over, patience)
	got, err := f.chain.Counts(ctx, accounts)
	cancel()
	if err != nil && len(accounts) > 1 && !errors.Is(err, chain.ErrUnreachable) && f.over.Err() == nil {
		for _, a := range accounts {
			f.answerCounts(waiting, []chain.Account{a})
		}
		return
	}
	for i, a := range accounts {
		one := counted{err: err}
		if err == nil {
			one.next = got[i]
		}
		for _, answer := range waiting[a] {
			answer <- one
		}
	}
}

// fresh is how old a description may be.
const fresh = 5 * time.Second

// about has the last description.
type about struct {
	mu   sync.Mutex
	last *question[chain.Description]
	at   time.Time // when it was asked
}

// describe asks again if the last answer is old or an error.
func (f *Feed) describe(ctx context.Context) (chain.Description, error) {
	d := &f.about
	d.mu.Lock()
	over, failed := false, false
	if d.last != nil {
		over, failed = d.last.answered()
	}
	if d.last == nil || failed || over && (time.Since(d.at) > fresh || chain.PurposeOf(ctx).Account != "") { // a leader wants to know it now
		d.last, d.at = ask(f, f.chain.Describe), time.Now()
	}
	q := d.last
	d.mu.Unlock()
	return q.wait(ctx)
}
