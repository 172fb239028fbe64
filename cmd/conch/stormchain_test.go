//go:build unix

package main_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/sha3"
)

// What a block has of the contract is read here from the data of its transactions and from its receipts, by the source
// Ledger.sol, with no code of the sequencer and none of the laboratory.

// stormEntry is an attempt to carry out a payment, as the chain has it.
type stormEntry struct {
	Block    uint64
	At       time.Time
	Sender   string // the coordinator's account
	Owner    string
	Sequence string
	Payload  string
	Attempt  string
	Landed   bool
	Reason   int // why it was skipped
	Until    uint64
	Needs    []string // states that it spends or reads
	Spends   []string
	Makes    []string
}

// stormReasons are the contract's, by their numbers.
var stormReasons = []string{"taken", "malformed", "not a member", "repeated", "expired", "not granted", "not endorsed", "missing"}

func keccaks(parts ...[]byte) []byte {
	h := sha3.NewLegacyKeccak256()
	for _, p := range parts {
		_, _ = h.Write(p) // it never fails
	}
	return h.Sum(nil)
}

func called(signature string) string { return "0x" + hex.EncodeToString(keccaks([]byte(signature))) }

var (
	stormSubmit  = called("submit((address,uint128,bytes32,bytes32[],bytes32[],bytes32[],bytes,(uint256,(bytes32,bytes32))[],bytes32,uint64,(bytes32,bytes32))[])")[:10]
	stormLanded  = called("Landed(address,uint128,bytes32,bytes32)")
	stormSkipped = called("Skipped(address,uint128,bytes32,bytes32,uint8)")
)

// stormBlocks is what the chain's node says of a block.
type stormBlocks struct {
	Transactions []struct{ Hash, From, To, Input string }
}

type stormReceipt struct {
	TransactionHash, GasUsed string
	Logs                     []struct {
		Address, Data string
		Topics        []string
	}
}

// asks asks the chain's node.
func (d *devnode) asks(out any, method string, args ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		return err
	}
	text, err := d.takes(body)
	if err != nil {
		return err
	}
	var said struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(text, &said); err != nil || said.Error != nil {
		return fmt.Errorf("%s: %w %s", method, err, said.Error)
	}
	return json.Unmarshal(said.Result, out)
}

// watches notes when each block was there, until the context ends: a block's own timestamp is in seconds, and there are several in
// one.
func (s *storm) watches(ctx context.Context) {
	for ctx.Err() == nil {
		var head string
		if s.chain.asks(&head, "eth_blockNumber") == nil {
			n, _ := strconv.ParseUint(strings.TrimPrefix(head, "0x"), 16, 64)
			s.mu.Lock()
			for now := time.Now(); uint64(len(s.heads)) <= n; {
				s.heads = append(s.heads, now)
			}
			s.mu.Unlock()
		}
		select {
		case <-time.After(stormBlock / 5):
		case <-ctx.Done():
		}
	}
}

// entries reads the blocks that were watched, and the gas that the contract has cost.
func (s *storm) entries() (all []stormEntry, gas uint64) {
	s.t.Helper()
	for n, at := range s.heads {
		var block stormBlocks
		var receipts []stormReceipt
		if err := s.chain.asks(&block, "eth_getBlockByNumber", hexed(uint64(n)), true); err != nil {
			s.t.Fatal(err)
		}
		if len(block.Transactions) == 0 {
			continue
		}
		if err := s.chain.asks(&receipts, "eth_getBlockReceipts", hexed(uint64(n))); err != nil {
			s.t.Fatal(err)
		}
		for i, tx := range block.Transactions {
			if !strings.EqualFold(tx.To, s.address) {
				continue
			}
			if receipts[i].TransactionHash != tx.Hash {
				s.t.Fatalf("block %d has the receipt of %s in the place of %s", n, receipts[i].TransactionHash, tx.Hash)
			}
			gas += number(s.t, receipts[i].GasUsed)
			found, err := entriesOf(tx.Input, receipts[i], s.address)
			if err != nil {
				s.t.Fatalf("block %d, transaction %s: %v", n, tx.Hash, err)
			}
			for _, e := range found {
				e.Block, e.At, e.Sender = uint64(n), at, strings.ToLower(tx.From)
				all = append(all, e)
			}
		}
	}
	return all, gas
}

// entriesOf reads the entries of a transaction from its data. The contract says one thing of each, in their order.
func entriesOf(input string, receipt stormReceipt, contract string) (all []stormEntry, err error) {
	defer func() {
		if fault := recover(); fault != nil { // an offset beyond the data
			err = fmt.Errorf("the data has another form: %v", fault)
		}
	}()
	data, err := hex.DecodeString(strings.TrimPrefix(input, "0x"))
	if err != nil || len(data) < 4 || !strings.HasPrefix(input, stormSubmit) {
		return nil, err // a cancellation: nobody of this test asks for one, and the fates would tell
	}
	list := words(data[4:]).behind(0)
	items := list[32:]
	for i := range list.number(0) {
		all = append(all, entryOf(items.behind(int(i))))
	}
	said := 0
	for _, l := range receipt.Logs {
		if !strings.EqualFold(l.Address, contract) {
			continue
		}
		raw, err := hex.DecodeString(strings.TrimPrefix(l.Data, "0x"))
		if err != nil || said == len(all) {
			return nil, fmt.Errorf("the contract speaks of more than %d entries: %w", len(all), err)
		}
		e, d := &all[said], words(raw)
		if len(l.Topics) != 3 || "0x"+l.Topics[1][26:] != e.Owner || l.Topics[2][34:] != e.Sequence || d.hash(0) != e.Payload {
			return nil, fmt.Errorf("entry %d is of %s %s, and the contract speaks of %v", said, e.Owner, e.Sequence, l.Topics)
		}
		e.Attempt, e.Landed = d.hash(1), l.Topics[0] == stormLanded
		if l.Topics[0] == stormSkipped {
			e.Reason = int(d.number(2))
		}
		attempt := d[32:64]
		for k := range e.Makes {
			e.Makes[k] = "0x" + hex.EncodeToString(keccaks(attempt, binary.BigEndian.AppendUint64(make([]byte, 24), uint64(k))))
		}
		said++
	}
	if said != len(all) {
		return nil, fmt.Errorf("it has %d entries, and the contract speaks of %d", len(all), said)
	}
	return all, nil
}

func entryOf(w words) stormEntry {
	e := stormEntry{Owner: "0x" + w.hash(0)[26:], Sequence: w.hash(1)[34:], Payload: w.hash(2), Until: w.number(9)}
	e.Spends = w.behind(3).hashes()
	e.Needs = append(append(e.Needs, e.Spends...), w.behind(4).hashes()...)
	e.Makes = w.behind(5).hashes() // commitments: the states are named once the attempt is known
	return e
}

// words are values in the form of contracts, 32 bytes each. What is not there panics.
type words []byte

func (w words) hash(i int) string   { return "0x" + hex.EncodeToString(w[32*i:32*i+32]) }
func (w words) number(i int) uint64 { return binary.BigEndian.Uint64(w[32*i+24 : 32*i+32]) }
func (w words) behind(i int) words  { return w[w.number(i):] }

func (w words) hashes() (all []string) {
	for i := range w.number(0) {
		all = append(all, w.hash(1+int(i)))
	}
	return all
}
