//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
)

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

// entries reads what the chain has of the contract, with the time at which each block was seen, and the gas that it has cost.
func (s *storm) entries() (all []stormEntry, gas uint64) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), longPatience)
	defer cancel()
	l, err := explorer.ReadContract(ctx, s.chain.url, s.address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range l.Entries {
		if e.Event == auditor.Cancelled || e.Block >= uint64(len(s.heads)) { // nobody of this test cancels, and the fates would tell
			continue
		}
		one := stormEntry{
			Block: e.Block, At: s.heads[e.Block], Sender: e.Sender, Owner: e.Owner, Sequence: e.Sequence, Payload: e.Payload, Attempt: e.Attempt,
			Landed: e.Event == auditor.Landed, Reason: int(e.Reason), Until: e.Until, Needs: slices.Concat(e.Inputs, e.Reads), Spends: e.Inputs,
		}
		for _, o := range e.Outputs {
			one.Makes = append(one.Makes, o.State)
		}
		all = append(all, one)
	}
	return all, l.Gas
}
