package evm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/conchhq/conch/chain"
	driver "github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

var _ sequencer.Ledger = (*evm.Ledger)(nil)

// reader follows a contract as a node does, and keeps what it was told of each block.
type reader struct {
	t      *testing.T
	at     *place
	chain  chain.Chain
	ledger *evm.Ledger
	stop   func()

	mu     sync.Mutex
	first  uint64 // before the first block that was told
	top    uint64 // the highest that was told
	blocks [][]ledger.Fact
	moved  chan struct{} // closed and replaced at each step
	faults []error
	turned int // rewinds
}

func newReader(t *testing.T, at *place, submitter evm.Submitter) *reader {
	t.Helper()
	c, err := driver.New(driver.Config{URL: at.node.url, ChainID: at.node.id, Depth: at.contract.Depth, Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r := &reader{t: t, at: at, chain: c, moved: make(chan struct{})}
	r.open(submitter)
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

// open begins a new process, which has stored what is final.
func (r *reader) open(submitter evm.Submitter) {
	r.t.Helper()
	var err error
	if r.ledger, err = evm.Open(r.t.Context(), evm.Config{
		Contract: r.at.contract, Node: r.at.node, Chain: r.chain, Self: named(r.t, "stranger").name(), Submitter: submitter,
	}); err != nil {
		r.t.Fatal(err)
	}
	r.ledger.Narrow(3)
	if final := r.top - min(r.top, r.at.contract.Depth); r.last() > final && final >= r.first {
		r.blocks = r.blocks[:final-r.first]
	}
}

func (r *reader) last() uint64 { return r.first + uint64(len(r.blocks)) }

// start follows from the last block on, again and again, as a node does.
func (r *reader) start() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			r.mu.Lock()
			after := r.last()
			r.mu.Unlock()
			if err := r.ledger.Follow(ctx, after, r.step); ctx.Err() == nil {
				r.mu.Lock()
				if errors.Is(err, ledger.ErrDeep) || errors.Is(err, evm.ErrLog) || errors.Is(err, evm.ErrAnswer) {
					r.faults = append(r.faults, err)
				}
				r.mu.Unlock()
			}
		}
	})
	r.stop = func() { cancel(); running.Wait() }
}

func (r *reader) step(in any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch in := in.(type) {
	case ledger.Block:
		if len(r.blocks) == 0 {
			r.first = in.Number - 1
		}
		if in.Number != r.last()+1 {
			r.faults = append(r.faults, fmt.Errorf("block %d after %d", in.Number, r.last()))
			return
		}
		r.blocks = append(r.blocks, in.Facts)
		r.top = max(r.top, in.Number)
	case ledger.Rewind:
		r.turned++
		if in.To >= r.last() || in.To < r.first || in.To+r.at.contract.Depth < r.top {
			r.faults = append(r.faults, fmt.Errorf("a rewind to %d at block %d, the highest is %d", in.To, r.last(), r.top))
			return
		}
		r.blocks = r.blocks[:in.To-r.first]
	}
	close(r.moved)
	r.moved = make(chan struct{})
}

// await waits until it was told of a block with a fact at a number.
func (r *reader) await(number uint64, want ledger.Fact) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for {
		r.mu.Lock()
		moved, last := r.moved, r.last()
		there := last == number && number > r.first && slices.Contains(r.blocks[len(r.blocks)-1], want)
		r.mu.Unlock()
		if there {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			r.t.Fatalf("block %d with %+v is not told; the last one is %d; %v", number, want, last, r.faults)
		}
	}
}

// judge compares all that it was told with the chain's log.
func (r *reader) judge() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var logs []types.Log
	r.at.node.call(r.t, &logs, "eth_getLogs", map[string]any{"address": r.at.at, "fromBlock": hexutil.Uint64(r.first + 1), "toBlock": "latest"})
	all := map[uint64][]types.Log{}
	for _, l := range logs {
		all[l.BlockNumber] = append(all[l.BlockNumber], l)
	}
	for i, got := range r.blocks {
		n := r.first + 1 + uint64(i)
		var want []ledger.Fact
		if len(all[n]) > 0 {
			var err error
			if want, err = evm.Facts(r.at.at, all[n][0].BlockHash, all[n]); err != nil {
				r.t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) {
			r.t.Errorf("told of block %d: %v, and the chain has %v", n, got, want)
		}
	}
	for _, fault := range r.faults {
		r.t.Error(fault)
	}
}

// cancels makes transactions that each have one fact in their block.
type cancels struct {
	at    *place
	owner account
	next  uint64
}

func (c *cancels) sent() (ledger.Sent, ledger.Fact) {
	c.next++
	in := ledger.Intent{Owner: c.owner.name(), Sequence: ledger.Sequence{Lineage: 9, Counter: c.next}}
	s := c.owner.sign(evm.Scheme{}.Cancelled(c.at.contract, in))
	return ledger.Sent{By: named(c.at.t, "stranger").name(), Cancel: &ledger.Cancellation{Intent: in, Signature: s}}, ledger.Fact{Intent: in}
}

func (c *cancels) block() ledger.Fact {
	tx, fact := c.sent()
	c.at.Block(tx)
	return fact
}

// replace takes so many blocks back and makes at least as many others, so that nothing is replaced that is final.
func (c *cancels) replace(depth uint64, by int) (last ledger.Fact) {
	c.at.node.call(c.at.t, nil, "dev_reorg", hexutil.Uint64(depth), [][]hexutil.Bytes{})
	for range by {
		last = c.block()
	}
	return last
}

// Whatever the chain takes back above its final blocks, while a node follows, while it does not, and between two lives of
// it, the node has been told in the end what is on the chain, in order.
func TestFollow(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	chance, created := rand.New(rand.NewPCG(4, 2)), at.Number()
	c := &cancels{at: at, owner: named(t, "member 0")}
	for range 3 {
		c.block()
	}
	r := newReader(t, at, nobody{})
	steps := runtest.ByDay(60, 600)
	away := false
	for range steps {
		switch dice := chance.IntN(10); {
		case dice < 3:
			at.Block()
		case dice < 6:
			if fact := c.block(); !away && chance.IntN(2) == 0 {
				r.await(at.Number(), fact)
			}
		case dice < 8:
			c.replace(1+chance.Uint64N(2), 2+chance.IntN(2))
		case away:
			if chance.IntN(2) == 0 {
				r.open(nobody{})
			}
			r.start()
			away = false
		default:
			r.stop()
			away = true
		}
	}
	if away {
		r.start()
	}
	last := c.block()
	r.await(at.Number(), last)
	last = c.replace(2, 2)
	r.await(at.Number(), last)
	for _, anew := range []bool{false, true, false} { // while nobody follows
		r.stop()
		last = c.replace(2, 3)
		if anew {
			r.open(nobody{})
		}
		r.start()
		r.await(at.Number(), last)
	}
	r.stop()
	r.judge()
	if r.first+1 < created {
		t.Errorf("told from block %d on, and the contract is of block %d", r.first+1, created)
	}
	if r.turned == 0 {
		t.Error("nothing was taken back")
	}
}

// A chain that went back below a final block is told as a fault, and not as a rewind.
func TestBelowFinal(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	c := &cancels{at: at, owner: named(t, "member 0")}
	var fact ledger.Fact
	for range 8 {
		fact = c.block()
	}
	r := newReader(t, at, nobody{})
	r.await(at.Number(), fact)
	r.stop()
	at.node.call(t, nil, "dev_reorg", hexutil.Uint64(7), [][]hexutil.Bytes{})
	for range 8 {
		c.block()
	}
	err := r.ledger.Follow(t.Context(), r.last(), func(in any) { t.Errorf("told %+v", in) })
	if !errors.Is(err, ledger.ErrDeep) {
		t.Errorf("got error %v, want ErrDeep", err)
	}
	if err := r.ledger.Follow(t.Context(), at.Number()+1, func(in any) { t.Errorf("told %+v", in) }); !errors.Is(err, evm.ErrBehind) {
		t.Errorf("after a block that is not there: got error %v, want ErrBehind", err)
	}
}

type nobody struct{}

var errNobody = errors.New("nobody sends")

func (nobody) Submit(context.Context, string, chain.Call, uint64) (string, error) {
	return "", errNobody
}
func (nobody) UnderWay(context.Context, []byte) ([]evm.Submitted, error) { return nil, errNobody }
func (nobody) Lost(context.Context, string) (is bool, why string, err error) {
	return false, "", errNobody
}
func (nobody) Withdraw(context.Context, string) error { return errNobody }
func (nobody) Heed(func(string)) (leave func())       { return func() {} }

// Q6, Q18: what is sent goes out from the account that its grants name, and has one key however often it is handed over.
func TestSubmit(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	c := &cancels{at: at, owner: named(t, "member 0")}
	k := &desk{}
	r := newReader(t, at, k)
	one, fact := c.sent()
	other, _ := c.sent()
	for _, tx := range []ledger.Sent{one, other, one} {
		if err := r.ledger.Submit(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	if k.keys[0] != k.keys[2] || k.keys[0] == k.keys[1] || len(k.keys) != 3 {
		t.Errorf("got the keys %v, want that of the third to be the first one's", k.keys)
	}
	if common.BytesToAddress(k.calls[0].To) != at.at || k.calls[0].Gas == 0 {
		t.Errorf("got the call %+v", k.calls[0])
	}
	one.By = at.contract.Members[0]
	if err := r.ledger.Submit(t.Context(), one); !errors.Is(err, evm.ErrSent) {
		t.Errorf("to be sent by another: got error %v, want ErrSent", err)
	}
	k.all, k.keys = nil, k.keys[:3]
	if err := r.ledger.Nudge(t.Context()); err != nil {
		t.Fatal(err)
	}
	nudge := k.all[0].Key
	for stage, key := range []string{evm.Queued: "ledger 0xab", evm.Signed: "ledger 0xab", evm.Included: nudge} {
		k.all[0].Stage, k.all[0].Key = evm.Stage(stage), key
		if err := r.ledger.Nudge(t.Context()); !errors.Is(err, ledger.ErrUnderWay) || len(k.keys) != 4 {
			t.Errorf("while one is at stage %d: got error %v, want ErrUnderWay", stage, err)
		}
	}
	stranger := named(t, "stranger")
	at.node.seal(t, at.node.limited(t, stranger, 0, &at.at, k.calls[0].Data, k.calls[0].Gas))
	r.await(at.Number(), fact)
	for range 2 {
		if err := r.ledger.Nudge(t.Context()); err != nil {
			t.Fatal(err)
		}
		k.all = nil // somebody cancels it
	}
	if n := k.keys[3:]; len(n) != 3 || n[0] == n[1] || n[2] != n[1]+" again 2" {
		t.Errorf("got the keys %v, want one for each head, and another for one that was cancelled", n)
	}
	if to := common.BytesToAddress(k.calls[3].To); to != stranger.address() || len(k.calls[3].Data) > 0 {
		t.Errorf("a nudge is %+v", k.calls[3])
	}
}

// A node that says it was told less than it was is told the rest, on whatever branch the rest is now.
func TestFollowFromBefore(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	c := &cancels{at: at, owner: named(t, "member 0")}
	var last ledger.Fact
	for range 6 {
		last = c.block()
	}
	r := newReader(t, at, nobody{})
	r.await(at.Number(), last)
	r.stop()
	head := at.Number()
	c.replace(2, 2)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var told []any
	_ = r.ledger.Follow(ctx, head-1, func(in any) {
		if b, is := in.(ledger.Block); is {
			in = b.Number
		}
		if told = append(told, in); len(told) == 3 {
			stop()
		}
	})
	if want := []any{ledger.Rewind{To: head - 2}, head - 1, head}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// A chain that goes back below a final block while a node follows is told as a fault, too; and so is a log of a block that
// was not asked for.
func TestFollowFails(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	c := &cancels{at: at, owner: named(t, "member 0")}
	for range 8 {
		c.block()
	}
	r := newReader(t, at, nobody{})
	r.stop()
	r.open(nobody{})
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	head, broken := at.Number(), false
	err := r.ledger.Follow(ctx, head-at.contract.Depth, func(in any) {
		if b, is := in.(ledger.Block); is && b.Number == head && !broken {
			broken = true
			at.node.call(t, nil, "dev_reorg", hexutil.Uint64(6), [][]hexutil.Bytes{{}, {}, {}, {}, {}, {}, {}})
		}
	})
	if !errors.Is(err, ledger.ErrDeep) {
		t.Errorf("got error %v, want ErrDeep", err)
	}
	lying, err := evm.Open(ctx, evm.Config{Contract: at.contract, Self: named(t, "stranger").name(), Chain: r.chain, Submitter: nobody{}, Node: liar{
		at.node, func(method string, _ []any, answer json.RawMessage) json.RawMessage {
			var logs []types.Log
			if method != "eth_getLogs" || json.Unmarshal(answer, &logs) != nil || len(logs) == 0 {
				return answer
			}
			logs[0].BlockNumber += 1000
			out, err := json.Marshal(logs)
			if err != nil {
				t.Error(err)
			}
			return out
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		c.block()
	}
	if err := lying.Follow(ctx, 0, func(any) {}); !errors.Is(err, evm.ErrLog) {
		t.Errorf("a log of another block: got error %v, want ErrLog", err)
	}
}

// Before its creation nothing of a contract has landed.
func TestFinalBeforeTheCreation(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	f, at := opened(t, s.node, 3, 2)
	in := ledger.Intent{Owner: f.Members[0].Account}
	final, err := at.reader.Final(t.Context(), []ledger.Intent{in}, []ledger.StateID{{1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, is := final.Landed(in); is || final.Unspent(ledger.StateID{1}) || final.Number()+f.Contract.Depth != at.Number() {
		t.Errorf("read %+v", final)
	}
}
