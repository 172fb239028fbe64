package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/node"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
	"github.com/conchhq/conch/chain/substrate/internal/trie"
)

func hashOf(t *testing.T, text string) chain.Hash {
	t.Helper()
	raw, err := chain.ParseHex(text)
	if err != nil {
		t.Fatal(err)
	}
	return chain.Hash(raw)
}

const zeros = "0x0000000000000000000000000000000000000000000000000000000000000000"

// Z11: headers of real chains have the hashes that their networks call them by.
func TestHashesOfRealHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ hash, state string }{
		{"0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3", "0x29d0d972cd27cbc511e9589fcb7a4506d5eb6a9e8df205f00472e5ab354a4e17"}, // Polkadot
		{"0xb0a8d493285c2df73290dfb7e61f870f17b41801197a149ca93654499ea3dafe", "0xb0006203c3a6e6bd2c6a17b1d4ae8ca49a31da0f4579da950b127774b44aef6b"}, // Kusama
	} {
		f := newFake(t)
		genesis := hashOf(t, c.hash)
		f.answer = func(method string, _ []json.RawMessage, honest any) any {
			switch method {
			case "chain_getBlockHash":
				return genesis
			case "chain_getHeader":
				return json.RawMessage(fmt.Sprintf(`{"parentHash":%q,"number":"0x0","stateRoot":%q,"extrinsicsRoot":"0x03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314","digest":{"logs":[]}}`, zeros, c.state))
			}
			return honest
		}
		h, err := f.view(func(cfg *node.Config) { cfg.Genesis = genesis }).Header(brief(t), genesis)
		if err != nil || h.Number != 0 || h.Hash != genesis {
			t.Errorf("%s: got %+v, %v", c.hash, h, err)
		}
	}
}

// Another chain is asked nothing but who it is, and an extrinsic does not leave for it. So it is with a node that is syncing.
func TestWhoIsThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*fake, *node.Config)
		want error
	}{
		{"another genesis", func(_ *fake, cfg *node.Config) { cfg.Genesis = chain.Hash(strings.Repeat("x", 32)) }, chain.ErrForeign},
		{"another hash function", func(f *fake, _ *node.Config) {
			f.answer = func(method string, _ []json.RawMessage, honest any) any {
				if method == "chain_getHeader" {
					return json.RawMessage(strings.Replace(f.best[0].header, `"logs":[`, `"logs":["0x00",`, 1))
				}
				return honest
			}
		}, chain.ErrUnsupported},
		{"syncing", func(f *fake, _ *node.Config) {
			f.answer = func(method string, _ []json.RawMessage, honest any) any {
				if method == "system_health" {
					return map[string]any{"isSyncing": true}
				}
				return honest
			}
		}, chain.ErrAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			v := f.view(func(cfg *node.Config) { c.edit(f, cfg) })
			if _, _, err := v.Tips(brief(t)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if got := v.Submit(brief(t), [][]byte{{1}, {2}}); len(got) != 2 || got[0].Verdict != chain.Refused || got[1].Verdict != chain.Refused || got[0].Text == "" {
				t.Errorf("got %+v, want that it was not sent", got)
			}
			if f.calls("author_submitExtrinsic")+f.calls("chain_getFinalizedHead") > 0 {
				t.Error("it was asked for more than who it is")
			}
		})
	}
}

// A gateway that does not say whether its node is syncing is taken all the same.
func TestHealthIsOptional(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(method string, _ []json.RawMessage, honest any) any {
		if method == "system_health" {
			return fault{Code: rpc.CodeMethod, Message: "Method not found"}
		}
		return honest
	}
	if head, final, err := f.view().Tips(brief(t)); err != nil || head.Block != f.best[0].Block || final.Block != f.best[0].Block {
		t.Errorf("got %v, %v, %v", head, final, err)
	}
}

// Z11: an endpoint that returns another block than it was asked for is at fault, and nothing is concluded; one that has none does not know it.
func TestAnotherHeader(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	one, other := f.mine("a"), f.mine("b")
	var with any
	f.answer = func(method string, params []json.RawMessage, honest any) any {
		if method == "chain_getHeader" && len(params) > 0 && f.named(params, 0) == one {
			return with
		}
		return honest
	}
	v := f.view()
	for _, c := range []struct {
		with any
		want error
	}{
		{nil, chain.ErrThread}, {json.RawMessage(other.header), chain.ErrAnswer}, {map[string]any{}, chain.ErrAnswer}, {"0x00", chain.ErrAnswer},
		{json.RawMessage(strings.Replace(one.header, `"number":"0x1"`, `"number":"0x2"`, 1)), chain.ErrAnswer},
		{json.RawMessage(strings.Replace(one.header, `"number":"0x1"`, `"number":"-1"`, 1)), chain.ErrAnswer},
	} {
		f.do(func() { with = c.with })
		if b, err := v.Block(brief(t), one.Hash); !errors.Is(err, c.want) || b != (chain.Block{}) {
			t.Errorf("with %s: got %v, %v, want %v", c.with, b, err, c.want)
		}
	}
	f.do(func() { with = json.RawMessage(one.header) })
	if b, err := v.Block(brief(t), one.Hash); err != nil || b != one.Block {
		t.Errorf("got %v, %v, want %v", b, err, one.Block)
	}
	if n := f.calls("chain_getHeader"); n != 8 { // one of them to greet
		t.Errorf("asked for %d headers, want 8", n)
	}
	if b, err := v.Block(brief(t), one.Hash); err != nil || b != one.Block || f.calls("chain_getHeader") != 8 {
		t.Errorf("got %v, %v; what is proven is asked for again", b, err)
	}
}

// Z11: a body that does not fit the root in its header is refused as a fault of the endpoint, whatever is wrong with it. Both layouts of
// the trie prove.
func TestBodyHasToFit(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	long := strings.Repeat("long ", 20)
	old, now := f.mine("one", long, "three"), f.add(trie.V1, 1, "one", long, "three")
	empty := f.mine()
	v := f.view()
	for _, b := range []*block{old, now, empty} {
		got, err := v.Body(brief(t), b.Hash)
		if err != nil || got.Block != b.Block || !slices.EqualFunc(got.Extrinsics, b.body, slices.Equal) {
			t.Errorf("got %+v, %v, want %+v", got, err, b)
		}
	}
	for name, extrinsics := range map[string][]string{
		"one left out": {"0x6f6e65", "0x7468726565"}, "one more": {"0x6f6e65", "0x00", "0x00", "0x00"}, "none": {},
		"one twice": {"0x6f6e65", "0x6f6e65", "0x7468726565"},
	} {
		f.do(func() {
			f.answer = func(method string, _ []json.RawMessage, honest any) any {
				if method == "chain_getBlock" {
					return map[string]any{"block": map[string]any{"header": json.RawMessage(old.header), "extrinsics": extrinsics}}
				}
				return honest
			}
		})
		got, err := v.Body(brief(t), old.Hash)
		if !errors.Is(err, chain.ErrAnswer) || !strings.Contains(fmt.Sprint(err), "does not fit") || len(got.Extrinsics) > 0 {
			t.Errorf("%s: got %+v, %v, want that it does not fit", name, got, err)
		}
		if _, err := f.view(func(cfg *node.Config) { cfg.Unproven = true }).Body(brief(t), old.Hash); err != nil {
			t.Errorf("%s, of a tool whose blocks have no roots: %v", name, err)
		}
	}
}

// A body, or a state, that an endpoint has not is no contradiction, and is told from a fault.
func TestWhatIsGone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	b := f.mine("a")
	v := f.view()
	_, err := v.Body(brief(t), chain.Hash(strings.Repeat("x", 32)))
	if !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("of a block that nobody knows: %v", err)
	}
	for _, c := range []struct {
		said any
		body error
		gone bool
	}{
		{nil, chain.ErrNotFound, false},
		{fault{Code: 4003, Message: "Client error: UnknownBlock: State already discarded for 0x12"}, chain.ErrNotFound, true},
		{fault{Code: 4003, Message: "Client error: Api called for an unknown Block: Header was not found in the database"}, chain.ErrNotFound, true},
		{fault{Code: -32603, Message: "Internal error"}, chain.ErrAnswer, false},
	} {
		f.do(func() {
			f.answer = func(method string, _ []json.RawMessage, honest any) any {
				if strings.HasPrefix(method, "state_") || method == "chain_getBlock" {
					return c.said
				}
				return honest
			}
		})
		if _, err := v.Body(brief(t), b.Hash); !errors.Is(err, c.body) {
			t.Errorf("%v: got the body with %v, want %v", c.said, err, c.body)
		}
		values, err := v.Storage(brief(t), b.Hash, []byte("key"), []byte("other"))
		if errors.Is(err, node.ErrStateGone) != c.gone || (err == nil) != (c.said == nil) {
			t.Errorf("%v: got %v, %v of a state", c.said, values, err)
		}
		if _, err := v.Execute(brief(t), b.Hash, "Core_version", nil); errors.Is(err, node.ErrStateGone) != c.gone {
			t.Errorf("%v: got %v of a call", c.said, err)
		}
	}
}

// Z12: what is read of a state is read as of a block's hash, and what is empty is not what is missing.
func TestStateOfABlock(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	b := f.mine()
	f.answer = func(method string, params []json.RawMessage, honest any) any {
		switch {
		case method == "state_getStorage" && f.named(params, 1) == b:
			return map[string]any{`"0x6b6579"`: "0x0102", `"0x656d707479"`: "0x"}[string(params[0])]
		case method == "state_call" && f.named(params, 2) == b:
			return "0x" + fmt.Sprintf("%x", string(params[0])+string(params[1]))
		}
		return honest
	}
	got, err := f.view().Storage(brief(t), b.Hash, []byte("key"), []byte("empty"), []byte("none"))
	if err != nil || len(got) != 3 || string(got[0]) != "\x01\x02" || got[1] == nil || len(got[1]) != 0 || got[2] != nil {
		t.Errorf("got %q, %v", got, err)
	}
	out, err := f.view().Execute(brief(t), b.Hash, "Some_function", []byte{7})
	if err != nil || string(out) != `"Some_function""0x07"` {
		t.Errorf("got %q, %v", out, err)
	}
}

// Z13: a block's version is asked for once, and again where a header says that it has changed. The block that changes it was made by
// the version before, which is that of its parent's state. A branch without it has the old one.
func TestVersions(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	v := f.view()
	var blocks []*block
	for _, spec := range []int{1, 1, 2, 2} {
		blocks = append(blocks, f.add(trie.V0, spec))
	}
	wants := func(b *block, spec uint32) {
		t.Helper()
		for at := b; at != nil && at.Number > 0; at = f.known[at.Parent] { // as a follower would
			_, _ = v.Header(brief(t), at.Hash)
		}
		got, err := v.Version(brief(t), b.Hash)
		if want := (node.Version{Name: "fake", Spec: spec, Transaction: 7}); err != nil || got != want || got.String() != fmt.Sprintf("fake/%d/7", spec) {
			t.Errorf("after block %d: got %v, %v, want %v", b.Number, got, err, want)
		}
	}
	for i, spec := range []uint32{1, 1, 2, 2} {
		wants(blocks[i], spec)
	}
	f.reorg(2, 1)
	wants(f.head(), 1)
	if n := f.calls("state_getRuntimeVersion"); n != 2 {
		t.Errorf("asked %d times for a version, want 2: one for each that there was", n)
	}
	if _, err := v.Version(brief(t), chain.Hash(strings.Repeat("x", 32))); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("of a block that nobody knows: %v", err)
	}
}

// A node's answers to what was sent, in its order. One without an answer may have been taken, and so may one that the node calls by
// another hash.
func TestSubmit(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(method string, params []json.RawMessage, honest any) any {
		switch {
		case method != "author_submitExtrinsic":
		case string(params[0]) == `"0x01"`:
			return node.HashOf([]byte{1})
		case string(params[0]) == `"0x02"`:
			return node.HashOf([]byte{1})
		case string(params[0]) == `"0x03"`:
			return fault{1010, "Invalid Transaction", "Transaction has a bad signature"}
		case string(params[0]) == `"0x04"`:
			return fault{1014, "Priority is too low: (1 vs 1)", nil}
		}
		return honest
	}
	v := f.view()
	got := v.Submit(brief(t), [][]byte{{1}, {2}, {3}, {4}})
	want := []node.Reply{{Verdict: chain.Accepted}, {Verdict: chain.Unknown}, {Verdict: chain.Unknown, Asks: node.AsksProof}, {Verdict: chain.Underpriced}}
	for i := range want {
		if got[i].Verdict != want[i].Verdict || got[i].Asks != want[i].Asks || (got[i].Text == "") != (i == 0) {
			t.Errorf("extrinsic %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
	if text := got[2].Text; text != "Invalid Transaction: Transaction has a bad signature" {
		t.Errorf("a person reads %q", text)
	}
	v.Close()
	if got := v.Submit(brief(t), [][]byte{{1}}); got[0].Verdict != chain.Unknown || got[0].Text == "" {
		t.Errorf("without an answer: got %+v, want unknown", got[0])
	}
	if len(v.Submit(brief(t), nil)) > 0 {
		t.Error("got replies to nothing")
	}
}
