package evm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/sequencer/ledger"
)

// errAnswer is in the error of an answer that has not the form of one, or contradicts another one.
var errAnswer = errors.New("the endpoint's answer about the contract cannot be used")

// Reader reads one contract. It is safe for concurrent use.
type Reader struct {
	node     bounded
	address  common.Address
	contract ledger.Contract
	since    uint64
	window   uint64        // over how many blocks one request searches the log
	blockGas atomic.Uint64 // of the last block that was seen; 0 before

	mu    sync.Mutex
	final map[ledger.Intent]ended // the intents that are over in a final block
}

// ended is how an intent ended, and a block in which that was so. In earlier ones it may not have been: the next answer
// may come from an endpoint that is behind, and a state that is not there yet would count as spent.
type ended struct {
	as    [2]ledger.Hash
	block uint64
}

// mostFinal is how many of them are remembered: a search for what landed long ago is many requests.
const mostFinal = 10_000

// room is how much gas one transaction of several entries has at most: a chain refuses one that has more than a block, and
// the blocks of some become smaller, by a thousandth each.
func (r *Reader) room() uint64 {
	g := r.blockGas.Load()
	if g == 0 {
		return mostGas
	}
	return g - g/8
}

// Head returns the last block's number and that of the last final one, which is the declared depth below it.
func (r *Reader) Head(ctx context.Context) (head, final uint64, err error) {
	b, err := r.block(ctx, "latest")
	n := uint64(b.Number)
	return n, n - min(n, r.contract.Depth), err
}

// Final reads intents and states in the last final block. What is over there is so for ever, and asked for once.
func (r *Reader) Final(ctx context.Context, intents []ledger.Intent, states []ledger.StateID) (f ledger.View, err error) {
	defer func() { turn(ctx, r.node, err) }()
	_, final, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	b, err := r.settled(ctx, final)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	known := map[ledger.Intent][2]ledger.Hash{}
	var unknown []ledger.Intent
	for _, in := range intents {
		if e, is := r.final[in]; is && e.block <= final {
			known[in] = e.as
		} else {
			unknown = append(unknown, in)
		}
	}
	r.mu.Unlock()
	v, err := r.view(ctx, b, unknown, states)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final == nil || len(r.final)+len(v.landed) > mostFinal {
		r.final = map[ledger.Intent]ended{}
	}
	for in, as := range v.landed {
		r.final[in] = ended{as, v.number}
	}
	maps.Copy(v.landed, known)
	return v, nil
}

// view is what was read in one block.
type view struct {
	number  uint64
	landed  map[ledger.Intent][2]ledger.Hash
	unspent map[ledger.StateID]bool
}

// Number implements ledger.View.
func (v *view) Number() uint64 { return v.number }

// Landed implements ledger.View.
func (v *view) Landed(in ledger.Intent) (assembled, payload ledger.Hash, is bool) {
	as, is := v.landed[in]
	return as[0], as[1], is
}

// Unspent implements ledger.View.
func (v *view) Unspent(s ledger.StateID) bool { return v.unspent[s] }

// view reads intents and states in one block. All of it is asked for by the block's hash, but the log, which is searched
// up to that block's number, where an endpoint has it. Afterwards the block has to be in the best chain still.
func (r *Reader) view(ctx context.Context, b block, intents []ledger.Intent, states []ledger.StateID) (*view, error) {
	v := &view{uint64(b.Number), map[ledger.Intent][2]ledger.Hash{}, map[ledger.StateID]bool{}}
	if v.number < r.since {
		return v, nil // nothing was there
	}
	var calls [][]byte
	for _, in := range intents {
		if len(in.Owner) != addressSize {
			return nil, fmt.Errorf("the owner %v is no address", in.Owner)
		}
		calls = append(calls, call(overSelector, account(in.Owner), sequence(in.Sequence)))
	}
	for _, s := range states {
		calls = append(calls, call(unspentSelector, word(s)))
	}
	answers, err := r.ask(ctx, b, calls)
	if err != nil {
		return nil, err
	}
	over := map[ledger.Intent]bool{}
	for i, in := range intents {
		if answers[i] {
			over[in] = true
		}
	}
	for i, s := range states {
		v.unspent[s] = answers[len(intents)+i]
	}
	if len(over) > 0 {
		if v.landed, err = r.search(ctx, b, over); err != nil {
			return nil, err
		}
	}
	again, err := r.block(ctx, hexutil.EncodeUint64(v.number))
	if err == nil && again.Hash != b.Hash {
		err = fmt.Errorf("%w: block %d was replaced while it was read", errAnswer, v.number)
	}
	return v, err
}

// mostCalls is how many calls one request has.
const mostCalls = 50

// ask makes calls that answer yes or no, in one block.
func (r *Reader) ask(ctx context.Context, b block, calls [][]byte) (answers []bool, err error) {
	for len(calls) > 0 {
		some := calls[:min(len(calls), mostCalls)]
		calls = calls[len(some):]
		batch, results := make([]rpc.BatchElem, len(some)), make([]hexutil.Bytes, len(some))
		for i, data := range some {
			message := map[string]any{"to": r.address, "input": hexutil.Bytes(data)}
			batch[i] = rpc.BatchElem{Method: "eth_call", Args: []any{message, b.at()}, Result: &results[i]}
		}
		if err := r.node.BatchCallContext(ctx, batch); err != nil {
			return nil, err
		}
		for i, result := range results {
			if batch[i].Error != nil {
				return nil, fmt.Errorf("block %d: %w", b.Number, batch[i].Error)
			}
			yes := len(result) == wordSize && word(result) == number(1)
			if !yes && (len(result) != wordSize || word(result) != word{}) {
				return nil, fmt.Errorf("%w: %v is neither yes nor no", errAnswer, result)
			}
			answers = append(answers, yes)
		}
	}
	return answers, nil
}

// searched is over how many blocks one request searches the log: common providers allow so many.
const searched = 2_000

// search finds how intents ended that are over, in the log up to a block, the newest first.
func (r *Reader) search(ctx context.Context, last block, over map[ledger.Intent]bool) (map[ledger.Intent][2]ledger.Hash, error) {
	found := map[ledger.Intent][2]ledger.Hash{}
	var owners, sequences []word
	for in := range over {
		owners, sequences = append(owners, account(in.Owner)), append(sequences, sequence(in.Sequence))
	}
	to, topics := uint64(last.Number), []any{[]common.Hash{landedTopic, cancelledTopic}, asHashes(owners), asHashes(sequences)}
	for len(found) < len(over) {
		from := max(r.since, to-min(to, r.window-1))
		logs, err := r.logs(ctx, last, map[string]any{"fromBlock": hexutil.EncodeUint64(from), "toBlock": hexutil.EncodeUint64(to), "topics": topics})
		if err != nil {
			return nil, err
		}
		for _, l := range logs {
			f, err := fact(r.address, l)
			if err != nil {
				return nil, err
			}
			if !over[f.Intent] || f.Skipped != ledger.Taken || l.Removed || l.BlockNumber < from || l.BlockNumber > to {
				continue // owners and sequences are asked for without regard to each other
			}
			if _, twice := found[f.Intent]; twice {
				return nil, fmt.Errorf("%w: the intent %v landed twice", errAnswer, f.Intent)
			}
			found[f.Intent] = [2]ledger.Hash{f.Assembled, f.Payload}
		}
		if from <= r.since {
			break
		}
		to = from - 1
	}
	if len(found) < len(over) {
		return nil, fmt.Errorf("%w: of %d intents that are over, the log shows %d", errAnswer, len(over), len(found))
	}
	return found, nil
}

func asHashes(words []word) (all []common.Hash) {
	for _, w := range words {
		all = append(all, common.Hash(w))
	}
	return all
}
