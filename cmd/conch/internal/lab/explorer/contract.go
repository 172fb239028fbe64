package explorer

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
)

// The contract's functions and events, from the source Ledger.sol.
var (
	submitFunction = named("submit((address,uint128,bytes32,bytes32[],bytes32[],bytes32[],bytes,(uint256,(bytes32,bytes32))[],bytes32,uint64,(bytes32,bytes32))[])")[:10]
	cancelFunction = named("cancel(address,uint128,(bytes32,bytes32))")[:10]
	unspentGetter  = named("unspent(bytes32)")[:10]

	events = map[string]auditor.Event{
		named("Landed(address,uint128,bytes32,bytes32)"):        auditor.Landed,
		named("Cancelled(address,uint128)"):                     auditor.Cancelled,
		named("Skipped(address,uint128,bytes32,bytes32,uint8)"): auditor.Skipped,
	}
)

// ReadContract reads the whole chain, from its first block to its head, and returns what is on it of a contract whose
// nodes have ended. It waits until the pool has no transaction of the senders.
func ReadContract(ctx context.Context, url, address string, senders []string) (l auditor.Ledger, err error) {
	c := client{rpc.New(url, patience)}
	defer c.Close()
	for _, s := range senders {
		if err := c.awaitEmptyPool(ctx, s); err != nil {
			return l, err
		}
	}
	if l.Blocks, err = c.Number(ctx, "eth_blockNumber"); err != nil {
		return l, err
	}
	r := contractReader{client: c, address: strings.ToLower(address), ledger: &l}
	if err := c.blocks(ctx, 0, l.Blocks, func(b block, n uint64) error { return r.block(ctx, b, n) }); err != nil {
		return l, err
	}
	return l, r.states(ctx)
}

type contractReader struct {
	client

	address string
	ledger  *auditor.Ledger
}

// block reads what a block has of the contract.
func (r *contractReader) block(ctx context.Context, b block, n uint64) error {
	receipts, err := r.receipts(ctx, b)
	if err != nil {
		return err
	}
	for i, tx := range b.Transactions {
		receipt := receipts[i]
		if tx.To == "" && strings.EqualFold(receipt.ContractAddress, r.address) {
			if err := r.created(tx); err != nil {
				return fmt.Errorf("the creation of the contract, %s: %w", tx.Hash, err)
			}
			continue
		}
		if err := r.transaction(tx, receipt, n); err != nil {
			return fmt.Errorf("the transaction %s of block %d: %w", tx.Hash, n, err)
		}
	}
	return nil
}

// created reads the creation of the contract: its code, and what was declared.
func (r *contractReader) created(tx transaction) error {
	data, err := bytesOf(tx.Input)
	if err != nil {
		return err
	}
	cut := min(len(data), auditor.CreationSize)
	c := auditor.Created{Code: data[:cut]}
	w := newWords(data[cut:])
	declaration := w.behind(0)
	c.Members, c.Needed = declaration.behind(0).accounts(), declaration.number(2)
	r.ledger.Created = c
	return *w.fault
}

// transaction reads the entries of a transaction. The contract says one thing of each, in their order.
func (r *contractReader) transaction(tx transaction, receipt receipt, n uint64) error {
	var said []auditor.Entry
	for _, l := range receipt.Logs {
		if !strings.EqualFold(l.Address, r.address) {
			continue
		}
		e, err := event(l.Topics, l.Data)
		if err != nil {
			return err
		}
		said = append(said, e)
	}
	if !strings.EqualFold(tx.To, r.address) {
		if len(said) > 0 {
			return errors.New("it has entries by another contract, whose data is not in the block")
		}
		return nil
	}
	gas, _ := strconv.ParseUint(strings.TrimPrefix(receipt.GasUsed, "0x"), 16, 64)
	r.ledger.Gas += gas
	if len(said) == 0 {
		return nil // what the contract did not understand has changed nothing
	}
	given, err := arguments(tx.Input)
	if err != nil {
		return err
	}
	if len(given) != len(said) {
		return fmt.Errorf("it has %d entries, and the contract speaks of %d", len(given), len(said))
	}
	for i, e := range said {
		g := given[i]
		if g.Owner != e.Owner || g.Sequence != e.Sequence || g.Payload != e.Payload && g.Payload != "" { // a cancellation has none
			return fmt.Errorf("its entry %d is of %s %s, and the contract speaks of %s %s", i, g.Owner, g.Sequence, e.Owner, e.Sequence)
		}
		e.Block, e.Sender, e.Inputs, e.Reads, e.Outputs, e.Until = n, strings.ToLower(tx.From), g.Inputs, g.Reads, g.Outputs, g.Until
		for k := range e.Outputs {
			attempt, err := bytesOf(e.Attempt)
			if err != nil {
				return err
			}
			place := make([]byte, wordSize)
			binary.BigEndian.PutUint64(place[wordSize-8:], uint64(k))
			e.Outputs[k].State = "0x" + hex.EncodeToString(keccak(attempt, place))
		}
		r.ledger.Entries = append(r.ledger.Entries, e)
	}
	return nil
}

// event reads what the contract has said of one entry.
func event(topics []string, data string) (e auditor.Entry, err error) {
	raw, err := bytesOf(data)
	if err != nil {
		return e, err
	}
	head, err := bytesOf("0x" + strings.ReplaceAll(strings.Join(topics, ""), "0x", ""))
	if err != nil {
		return e, err
	}
	t, d := newWords(head), newWords(raw)
	kind, known := events[t.hash(0)]
	if !known {
		return e, fmt.Errorf("the contract has said %s, which it does not know", t.hash(0))
	}
	e.Event, e.Owner, e.Sequence = kind, t.account(1), t.sequence(2)
	if e.Event != auditor.Cancelled {
		e.Payload, e.Attempt = d.hash(0), d.hash(1)
	}
	if e.Event == auditor.Skipped {
		e.Reason = d.number(2)
	}
	return e, errors.Join(*t.fault, *d.fault)
}

// arguments reads the data of a transaction.
func arguments(input string) (all []auditor.Entry, err error) {
	if len(input) < 10 {
		return nil, nil
	}
	data, err := bytesOf("0x" + input[10:])
	if err != nil {
		return nil, err
	}
	w := newWords(data)
	switch input[:10] {
	case cancelFunction:
		all = []auditor.Entry{{Owner: w.account(0), Sequence: w.sequence(1)}}
	case submitFunction:
		n, entries := w.behind(0).list()
		for i := range n {
			all = append(all, entry(entries.behind(i)))
		}
	}
	return all, *w.fault
}

func entry(w words) auditor.Entry {
	e := auditor.Entry{Owner: w.account(0), Sequence: w.sequence(1), Payload: w.hash(2), Inputs: w.behind(3).hashes(), Reads: w.behind(4).hashes(), Until: w.number(9)}
	for _, commitment := range w.behind(5).hashes() {
		e.Outputs = append(e.Outputs, auditor.Output{Commitment: commitment})
	}
	return e
}

// states asks the contract for each state that was named, in the block that was read last.
func (r *contractReader) states(ctx context.Context) error {
	r.ledger.Unspent = map[string]bool{}
	for _, e := range r.ledger.Entries {
		if e.Event != auditor.Landed {
			continue
		}
		named := slices.Concat(e.Inputs, e.Reads)
		for _, o := range e.Outputs {
			named = append(named, o.State)
		}
		for _, state := range named {
			if _, known := r.ledger.Unspent[state]; known {
				continue
			}
			call := map[string]string{"to": r.address, "data": unspentGetter + strings.TrimPrefix(state, "0x")}
			var said string
			if err := r.Ask(ctx, &said, "eth_call", call, rpc.Hex(r.ledger.Blocks)); err != nil {
				return err
			}
			r.ledger.Unspent[state] = strings.HasSuffix(said, "1")
		}
	}
	return nil
}

func bytesOf(text string) ([]byte, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil {
		return nil, fmt.Errorf("the chain says %q where bytes belong", text)
	}
	return b, nil
}
