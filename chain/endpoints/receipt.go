package endpoints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
)

// word is what one endpoint says of a transaction in a block.
type word struct {
	by      *member
	receipt chain.Receipt
	err     error
}

// slowReceipt is how long endpoints are waited for until one more is asked.
const slowReceipt = 300 * time.Millisecond

// Receipt implements chain.Chain. Two endpoints are asked at once, and one more for each that does not settle it or is slow: as with a
// second opinion about an end, two have to say the same while none says anything else, or else a majority of all. That an endpoint
// cannot say is not held against it. While only one has given an opinion for Config.Alone, its word is all there is.
func (s *Set) Receipt(ctx context.Context, in chain.Inclusion) (chain.Receipt, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	order := s.order()
	words := make(chan word, len(order))
	ask := func() {
		if len(order) > 0 {
			m := order[0]
			order = order[1:]
			s.late.Go(func() {
				r, err := m.Chain.Receipt(ctx, in)
				words <- word{m, r, err}
			})
		}
	}
	ask()
	ask()
	slow := time.NewTicker(slowReceipt)
	defer slow.Stop()
	var said []word
	for have := 0; len(said) < len(s.members); {
		select {
		case w := <-words:
			if said = append(said, w); w.err == nil {
				have++
			}
			if r, agreed := agreed(said, len(s.members)); agreed {
				return r, nil
			}
			if w.err != nil || have > 1 {
				ask()
			}
		case <-slow.C:
			ask()
		case <-ctx.Done():
			return chain.Receipt{}, fmt.Errorf("%w in time: %w", chain.ErrUnreachable, ctx.Err())
		}
	}
	return s.unsettled(said, in)
}

// agreed returns the receipt that two endpoints give while none gives another one, or a majority of so many.
func agreed(said []word, all int) (chain.Receipt, bool) {
	said = slices.DeleteFunc(slices.Clone(said), func(w word) bool { return w.err != nil })
	for _, w := range said {
		var same []string
		for _, other := range said {
			if w.receipt.Same(other.receipt) {
				same = append(same, other.by.Name)
			}
		}
		if n := len(same); n > 1 && (n == len(said) || n > all/2) {
			slices.Sort(same)
			w.receipt.By = [2]string(same[:2])
			return w.receipt, true
		}
	}
	return chain.Receipt{}, false
}

// unsettled returns why there is no receipt, or the word of one that is alone.
func (s *Set) unsettled(said []word, in chain.Inclusion) (chain.Receipt, error) {
	var faults []error
	var differ []string
	var last word
	for _, w := range said {
		if w.err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", w.by.Name, w.err))
			continue
		}
		last, differ = w, append(differ, w.by.Name)
	}
	switch {
	case len(differ) > 1:
		return chain.Receipt{}, fmt.Errorf("%w about the receipt of %v: %s", chain.ErrDisagree, in.Hash, strings.Join(differ, ", "))
	case len(differ) == 1 && s.isAlone(differ[0]):
		last.receipt.By = [2]string{differ[0]}
		return last.receipt, nil
	case len(differ) == 1:
		faults = append(faults, fmt.Errorf("%w: only %s has the receipt, and one endpoint's word is not believed", chain.ErrUnreachable, differ[0]))
	}
	return chain.Receipt{}, errors.Join(faults...)
}

// Quote implements chain.Chain. That an endpoint cannot say is not held against it.
func (s *Set) Quote(ctx context.Context, from chain.Account, call chain.Call, speed chain.Speed) (q chain.Quote, err error) {
	var faults []error
	for _, m := range s.order() {
		if q, err = m.Chain.Quote(ctx, from, call, speed); err == nil {
			q.By = m.Name
			return q, nil
		}
		faults = append(faults, fmt.Errorf("%s: %w", m.Name, err))
	}
	return q, errors.Join(faults...)
}

// AccountStates implements chain.Chain. That an endpoint cannot say is not held against it.
func (s *Set) AccountStates(ctx context.Context, accounts []chain.Account) (all []chain.AccountState, err error) {
	var faults []error
	for _, m := range s.order() {
		all, err = m.Chain.AccountStates(ctx, accounts)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", m.Name, err))
			continue
		}
		for i := range all {
			all[i].By = m.Name
		}
		return all, nil
	}
	return nil, errors.Join(faults...)
}
