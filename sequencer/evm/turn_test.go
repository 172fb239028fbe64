package evm_test

import (
	"context"
	"slices"
	"testing"
	"time"

	driver "github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// turning asks the endpoint that stands still until it is told to ask another one.
type turning struct {
	*two
	turned chan struct{}
}

func (e turning) Turn() {
	select {
	case <-e.turned:
	default:
		close(e.turned)
	}
}

// An endpoint that answers and has stopped does not keep a node from the others: the one that took over from
// another, which was away for a moment, would else be asked for ever.
func TestAnotherEndpointIsAsked(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	c := &cancels{at: at, owner: named(t, "member 0")}
	old, after := stand(t, at), at.Number()
	gone := c.block()
	line, err := driver.New(driver.Config{URL: at.node.url, ChainID: at.node.id, Depth: at.contract.Depth, Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	e := turning{&two{node: at.node, stands: old}, make(chan struct{})}
	l, err := evm.Open(t.Context(), evm.Config{Contract: at.contract, Node: e, Chain: line, Self: named(t, "stranger").name(), Submitter: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	e.second = func(int, []string) bool {
		select {
		case <-e.turned:
			return false
		default:
			return true
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	told := false
	for range 3 {
		_ = l.Follow(ctx, after, func(in any) {
			if b, is := in.(ledger.Block); is && b.Number == after+1 && len(b.Facts) == 1 && b.Facts[0] == gone {
				told = true
				stop()
			}
		})
	}
	if !told {
		t.Error("the block is never told: the endpoint that stands still is asked again and again")
	}
}

// So does one that has a block and not its state.
func TestAnotherEndpointIsRead(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	old := stand(t, at)
	for range at.contract.Depth + 1 {
		at.Block()
	}
	e := turning{&two{node: at.node, stands: old}, make(chan struct{})}
	r, err := evm.Check(t.Context(), e, at.contract)
	if err != nil {
		t.Fatal(err)
	}
	e.second = func(_ int, methods []string) bool {
		select {
		case <-e.turned:
			return false
		default:
			return slices.Contains(methods, "eth_call")
		}
	}
	for range 2 {
		if _, err = r.Final(t.Context(), nil, []ledger.StateID{{1}}); err == nil {
			return
		}
	}
	t.Errorf("the endpoint without the state is asked again and again: %v", err)
}
