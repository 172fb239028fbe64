package evm_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	driver "github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/ledger"
)

// stands is an endpoint that has stopped at a block: it answers for ever what the chain was then, also after the others
// have left that branch.
type stands struct {
	node    *node
	head    uint64
	numbers map[uint64]json.RawMessage
	hashes  map[common.Hash]json.RawMessage
	logs    []types.Log
}

func stand(t *testing.T, at *place) *stands {
	t.Helper()
	s := &stands{node: at.node, head: at.Number(), numbers: map[uint64]json.RawMessage{}, hashes: map[common.Hash]json.RawMessage{}}
	for n := range s.head + 1 {
		var raw json.RawMessage
		at.node.call(t, &raw, "eth_getBlockByNumber", hexutil.Uint64(n), false)
		var b struct{ Hash common.Hash }
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		s.numbers[n], s.hashes[b.Hash] = raw, raw
	}
	at.node.call(t, &s.logs, "eth_getLogs", map[string]any{"address": at.at, "fromBlock": "0x0", "toBlock": "latest"})
	return s
}

// answer is what it says: of a block that it does not have it knows no logs, as some kinds of nodes do.
func (s *stands) answer(ctx context.Context, method string, args []any) (any, error) {
	switch method {
	case "eth_getBlockByNumber":
		n := s.head
		if number := args[0].(string); number != "latest" {
			n = hexutil.MustDecodeUint64(number)
		}
		return s.numbers[n], nil
	case "eth_getBlockByHash":
		return s.hashes[args[0].(common.Hash)], nil
	case "eth_getLogs":
		query := args[0].(map[string]any)
		return slices.DeleteFunc(slices.Clone(s.logs), func(l types.Log) bool {
			if hash, is := query["blockHash"]; is {
				return l.BlockHash != hash
			}
			return l.BlockNumber > s.head || l.BlockNumber < hexutil.MustDecodeUint64(query["fromBlock"].(string)) || l.BlockNumber > hexutil.MustDecodeUint64(query["toBlock"].(string))
		}), nil
	case "eth_call":
		at := args[1].(map[string]any)
		if s.hashes[at["blockHash"].(common.Hash)] == nil {
			return nil, errors.New("header not found")
		}
		var raw json.RawMessage
		err := s.node.CallContext(ctx, &raw, method, args[0], map[string]any{"blockHash": at["blockHash"]})
		return raw, err
	}
	return nil, errors.New("an endpoint that stands still is not asked for this")
}

// two are endpoints at different heights, or on different branches. Second says which requests the one answers that
// stands still: by their number, from 1 on, and their methods.
type two struct {
	*node
	stands *stands
	second func(request int, methods []string) bool
	asked  int
}

func (e *two) CallContext(ctx context.Context, result any, method string, args ...any) error {
	one := []rpc.BatchElem{{Method: method, Args: args, Result: result}}
	if err := e.BatchCallContext(ctx, one); err != nil {
		return err
	}
	return one[0].Error
}

func (e *two) BatchCallContext(ctx context.Context, batch []rpc.BatchElem) error {
	e.asked++
	var methods []string
	for _, b := range batch {
		methods = append(methods, b.Method)
	}
	if e.second == nil || !e.second(e.asked, methods) {
		return e.node.BatchCallContext(ctx, batch)
	}
	for i, b := range batch {
		answer, err := e.stands.answer(ctx, b.Method, b.Args)
		raw, fault := json.Marshal(answer)
		if err == nil && fault == nil {
			err = json.Unmarshal(raw, b.Result)
		}
		batch[i].Error = errors.Join(err, fault)
	}
	return nil
}

// Q2: a block is final below the head of the endpoint that shows it, and not below that of another one: with the number
// of the one and the block of the other, what is at the head of a dead branch would count as final, and kill or confirm.
func TestFinalIsOfOneEndpoint(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	c := &cancels{at: at, owner: named(t, "member 0")}
	for range 4 {
		at.Block()
	}
	gone := c.block()
	old := stand(t, at)
	at.node.call(t, nil, "dev_reorg", hexutil.Uint64(1), [][]hexutil.Bytes{{}})
	for range at.contract.Depth {
		at.Block()
	}
	e := &two{node: at.node, stands: old}
	r, err := evm.Check(t.Context(), e, at.contract)
	if err != nil {
		t.Fatal(err)
	}
	for since := range 4 {
		e.asked, e.second = 0, func(request int, _ []string) bool { return request > since }
		final, err := r.Final(t.Context(), []ledger.Intent{gone.Intent}, nil)
		if err != nil {
			continue // it is asked again
		}
		if _, _, is := final.Landed(gone.Intent); is {
			t.Errorf("from request %d on the other endpoint: block %d of a dead branch is final", since+1, final.Number())
		}
	}
	e.second = nil
	if final, err := r.Final(t.Context(), []ledger.Intent{gone.Intent}, nil); err != nil || final.Number() != old.head {
		t.Errorf("one endpoint alone: block %d, %v; want %d", final.Number(), err, old.head)
	}
}

// Q2: how an intent ended is read from the log of an endpoint that has the block in which it is over.
func TestTheLogIsOfTheSameBranch(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	_, all, stranger := declare(t, n, 10, 1)
	n.fund(t, append(all, stranger)...)
	m, _ := newMeter(t, n, evm.Creation)
	at := &place{t: t, node: n, at: m.at, contract: m.c, by: map[ledger.Account]account{}}
	var err error
	if at.reader, err = evm.Check(t.Context(), n, m.c); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		at.Block()
	}
	first := m.entry(0, 1, 1, nil, nil)
	second := first
	second.Outputs = []ledger.Hash{hashOf("another output")}
	m.sign(&second, 0, 1)
	m.lands(first)
	old := stand(t, at)
	n.call(t, nil, "dev_reorg", hexutil.Uint64(1), [][]hexutil.Bytes{})
	m.lands(second)
	for range at.contract.Depth {
		at.Block()
	}
	for _, behind := range []uint64{0, 1} { // on another branch, and without the block
		old.head -= behind
		e := &two{node: n, stands: old}
		r, err := evm.Check(t.Context(), e, at.contract)
		if err != nil {
			t.Fatal(err)
		}
		e.second = func(_ int, methods []string) bool { return slices.Contains(methods, "eth_getLogs") }
		final, err := r.Final(t.Context(), []ledger.Intent{first.Intent}, nil)
		if err != nil {
			continue
		}
		if assembled, _, is := final.Landed(first.Intent); !is || assembled != second.Grant.Assembled {
			t.Errorf("%v has landed as %v, and the log of a dead branch is believed", first.Intent, assembled)
		}
	}
}

// What a block did is told by an endpoint that has the block: one that is behind shows no events, and what nobody tells
// again is lost until the next start.
func TestNoEventIsLost(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"final", "at the head"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStreet(t)
			_, at := opened(t, s.node, 3, 2)
			c := &cancels{at: at, owner: named(t, "member 0")}
			old, after := stand(t, at), at.Number()
			fact := c.block()
			if name == "final" {
				for range at.contract.Depth {
					at.Block()
				}
			}
			line, err := driver.New(driver.Config{URL: at.node.url, ChainID: at.node.id, Depth: at.contract.Depth, Poll: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer line.Close()
			e := &two{node: at.node, stands: old}
			l, err := evm.Open(t.Context(), evm.Config{Contract: at.contract, Node: e, Chain: chain.Chain(line), Self: named(t, "stranger").name(), Submitter: nobody{}})
			if err != nil {
				t.Fatal(err)
			}
			failed := false
			e.second = func(_ int, methods []string) bool { return !failed && slices.Contains(methods, "eth_getLogs") }
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			for from := after; from == after; failed = true {
				_ = l.Follow(ctx, from, func(in any) {
					if b, is := in.(ledger.Block); is && b.Number == after+1 {
						from = b.Number
						stop()
						if !slices.Equal(b.Facts, []ledger.Fact{fact}) {
							t.Errorf("block %d is told with %v, and it has %v", b.Number, b.Facts, fact)
						}
					}
				})
				if ctx.Err() != nil && from == after {
					t.Fatal("the block is never told")
				}
			}
		})
	}
}

// Q2: all that ends a grant is read in one block, also what is remembered: with an endpoint that is behind, a state that is
// not there yet would else count as spent, since its creator is known to have landed.
func TestWhatIsRememberedIsOfThatBlock(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	_, all, stranger := declare(t, n, 10, 1)
	n.fund(t, append(all, stranger)...)
	m, _ := newMeter(t, n, evm.Creation)
	at := &place{t: t, node: n, at: m.at, contract: m.c}
	var err error
	if at.reader, err = evm.Check(t.Context(), n, m.c); err != nil {
		t.Fatal(err)
	}
	for range at.contract.Depth {
		at.seal()
	}
	creator := m.entry(0, 1, 1, nil, nil)
	m.lands(creator)
	for range at.contract.Depth - 1 {
		at.seal()
	}
	behind := stand(t, at)
	at.seal()
	e := &two{node: n, stands: behind}
	r, err := evm.Check(t.Context(), e, at.contract)
	if err != nil {
		t.Fatal(err)
	}
	state := evm.Scheme{}.State(creator.Grant.Assembled, 0)
	given := grants.Given{
		Intent: ledger.Intent{Owner: all[1].name(), Sequence: ledger.Sequence{Counter: 9}}, Assembled: ledger.Hash{1}, ValidUntil: 1e6,
		Needs: []grants.Need{{State: state, Creator: creator.Intent, Assembled: creator.Grant.Assembled}},
	}
	for _, late := range []bool{false, true, false} {
		e.second = func(int, []string) bool { return late }
		final, err := r.Final(t.Context(), []ledger.Intent{given.Intent, creator.Intent}, []ledger.StateID{state})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, landed := final.Landed(creator.Intent); landed == late {
			t.Errorf("an endpoint that is behind: %v; block %d has the state's creator: %v", late, final.Number(), landed)
		}
		if end := grants.Kills(final, given); end != grants.Alive {
			t.Errorf("an endpoint that is behind: %v; a grant that can land is %v in block %d", late, end, final.Number())
		}
	}
}

func (p *place) seal() { p.node.seal(p.t) }
