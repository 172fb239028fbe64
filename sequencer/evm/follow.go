package evm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// kept is how many final blocks are remembered that were told, for a node that goes on from one of them.
const kept = 1024

// errBehind is in the error of an endpoint that has not reached the block that was told last.
var errBehind = errors.New("the endpoint is behind")

// Follow calls step with each ledger.Block after a number, and with each ledger.Rewind, in order, until the context
// ends. Blocks before the contract's creation are not told. A number that was told by this Ledger may be of a block that
// was taken back meanwhile; any other has to be final.
func (l *Ledger) Follow(ctx context.Context, after uint64, step func(any)) (err error) {
	defer func() { turn(ctx, l.node, err) }()
	from, err := l.resume(ctx, after, step)
	if err != nil {
		return err
	}
	if from, err = l.catchUp(ctx, from, step); err != nil {
		return err
	}
	for turn, err := range l.cfg.Chain.Heads(ctx, from) {
		if err != nil {
			return err
		}
		switch turn.Kind {
		case chain.Applied:
			facts, err := l.facts(ctx, turn.Block)
			if err != nil {
				return err
			}
			l.tell(turn.Block, facts, step)
		case chain.Reverted:
			if err := l.rewind(turn.Block.Number-1, step); err != nil {
				return err
			}
		case chain.Finalized: // the declared depth counts
		}
	}
	return ctx.Err()
}

// resume returns the block after which to go on, in the best chain: it takes back what has left it.
func (l *Ledger) resume(ctx context.Context, after uint64, step func(any)) (chain.Block, error) {
	l.mu.Lock()
	l.told = slices.DeleteFunc(l.told, func(b chain.Block) bool { return b.Number > after })
	told := slices.Clone(l.told)
	l.mu.Unlock()
	if len(told) == 0 || told[len(told)-1].Number != after {
		l.mu.Lock()
		l.told = nil
		l.mu.Unlock()
		return l.begin(ctx, max(after, l.since-min(l.since, 1)))
	}
	for _, b := range slices.Backward(told) {
		now, err := l.numbered(ctx, b.Number)
		if err != nil {
			return b, err
		}
		if now.Hash != b.Hash {
			continue
		}
		if b.Number < after {
			err = l.rewind(b.Number, step)
		}
		return b, err
	}
	return chain.Block{}, fmt.Errorf("%w: it has none of %d blocks up to %d", ledger.ErrDeep, len(told), after)
}

// begin remembers the block before the first that is told.
func (l *Ledger) begin(ctx context.Context, at uint64) (chain.Block, error) {
	b, err := l.numbered(ctx, at)
	if err != nil {
		return b, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = []chain.Block{b}
	return b, nil
}

// numbered returns a block of the best chain.
func (l *Ledger) numbered(ctx context.Context, number uint64) (chain.Block, error) {
	head, err := l.block(ctx, "latest")
	if err != nil {
		return chain.Block{}, err
	}
	if uint64(head.Number) < number {
		return chain.Block{}, fmt.Errorf("%w: it is at block %d, and block %d was told", errBehind, head.Number, number)
	}
	b, err := l.block(ctx, hexutil.EncodeUint64(number))
	return b.followed(), err
}

func (b block) followed() chain.Block {
	return chain.Block{Number: uint64(b.Number), Hash: chain.Hash(b.Hash[:]), Parent: chain.Hash(b.Parent[:])}
}

// catchUp tells of the blocks up to the last final one, many at a time, and returns that one. A block that is final is
// in the best chain for ever, so that its number is enough.
func (l *Ledger) catchUp(ctx context.Context, from chain.Block, step func(any)) (chain.Block, error) {
	_, final, err := l.Head(ctx)
	if err != nil {
		return from, err
	}
	for from.Number < final {
		to := min(final, from.Number+l.window)
		last, err := l.settled(ctx, to)
		if err != nil {
			return from, err
		}
		logs, err := l.logs(ctx, last, map[string]any{"fromBlock": hexutil.EncodeUint64(from.Number + 1), "toBlock": hexutil.EncodeUint64(to)})
		if err != nil {
			return from, err
		}
		byBlock := map[uint64][]types.Log{}
		for _, one := range logs {
			if one.BlockNumber <= from.Number || one.BlockNumber > to {
				return from, fmt.Errorf("%w: block %d", errLog, one.BlockNumber)
			}
			byBlock[one.BlockNumber] = append(byBlock[one.BlockNumber], one)
		}
		for n := from.Number + 1; n <= to; n++ {
			var facts []ledger.Fact
			if in := byBlock[n]; len(in) > 0 {
				if facts, err = readFacts(l.address, in[0].BlockHash, in); err != nil {
					return from, err
				}
			}
			step(ledger.Block{Number: n, Facts: facts})
		}
		l.mu.Lock()
		from = last.followed()
		l.told = []chain.Block{from}
		l.mu.Unlock()
	}
	return from, nil
}

// facts returns what a block did. It is asked for by its hash, of an endpoint that has the block: some that do not have it
// say that it has no logs.
func (l *Ledger) facts(ctx context.Context, b chain.Block) ([]ledger.Fact, error) {
	hash := common.BytesToHash([]byte(b.Hash))
	var logs []types.Log
	var there *block
	err := l.together(ctx, []rpc.BatchElem{
		{Method: "eth_getBlockByHash", Args: []any{hash, false}, Result: &there},
		{Method: "eth_getLogs", Args: []any{map[string]any{"address": l.address, "blockHash": hash}}, Result: &logs},
	})
	if err == nil && (there == nil || there.Hash != hash) {
		err = fmt.Errorf("%w: it does not have block %d", errBehind, b.Number)
	}
	if err != nil {
		return nil, err
	}
	return readFacts(l.address, hash, logs)
}

// tell remembers a block and tells of it.
func (l *Ledger) tell(b chain.Block, facts []ledger.Fact, step func(any)) {
	l.mu.Lock()
	l.told = append(l.told, b)
	l.final = max(l.final, b.Number-min(b.Number, l.contract.Depth))
	if n := len(l.told) - kept - int(l.contract.Depth); n > 0 {
		l.told = slices.Delete(l.told, 0, n)
	}
	l.mu.Unlock()
	step(ledger.Block{Number: b.Number, Facts: facts})
}

// rewind takes back what was told above a number.
func (l *Ledger) rewind(to uint64, step func(any)) error {
	l.mu.Lock()
	final, deep := l.final, to < l.final || len(l.told) == 0 || to < l.told[0].Number
	if !deep {
		l.told = slices.DeleteFunc(l.told, func(b chain.Block) bool { return b.Number > to })
	}
	l.mu.Unlock()
	if deep {
		return fmt.Errorf("%w: to block %d, and block %d was final", ledger.ErrDeep, to, final)
	}
	step(ledger.Rewind{To: to})
	return nil
}
