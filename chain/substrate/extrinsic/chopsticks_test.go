package extrinsic_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain/substrate/extrinsic"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/ss58"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

const patience = 2 * time.Minute

// real is a real runtime, statemine 900, which Chopsticks runs without a network. It judges signatures as a node does.
type real struct {
	t       *testing.T
	url     string
	rt      *metadata.Runtime
	codec   *extrinsic.Codec
	genesis [32]byte
	head    [32]byte
	height  uint64
	spec    struct{ SpecVersion, TransactionVersion uint32 }
}

func startReal(t *testing.T, accounts ...*key.Pair) *real {
	runtest.LongRun(t)
	dir := os.Getenv("CONCH_CHOPSTICKS")
	if dir == "" {
		runtest.Missing(t, "CONCH_CHOPSTICKS does not name a folder with Chopsticks: scripts/chopsticks.sh installs it")
	}
	config := "genesis: " + filepath.Join(dir, "spec.json") + "\nbuild-block-mode: Manual\nmock-signature-host: false\nport: 0\nhost: 127.0.0.1\nimport-storage:\n  System:\n    Account:\n"
	for _, a := range accounts {
		config += "      - - - " + ss58.Encode([]byte(a.Account()), ss58.Generic) + "\n        - nonce: 3\n          providers: 1\n          data:\n            free: '1000000000000000000'\n"
	}
	file := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "node_modules/@acala-network/chopsticks/chopsticks.cjs"), "--config", file)
	cmd.Dir, cmd.Stderr = t.TempDir(), os.Stderr
	line := proctest.Listen(t, cmd).Says(patience, "RPC listening on")
	_, url, _ := strings.Cut(line, "listening on ")
	url, _, _ = strings.Cut(url, " ")
	r := &real{t: t, url: url}
	r.look()
	return r
}

// look reads what the head is, and its runtime.
func (r *real) look() {
	var head, genesis, md string
	var header struct{ Number string }
	r.call(&genesis, "chain_getBlockHash", 0)
	r.call(&head, "chain_getBlockHash")
	r.call(&header, "chain_getHeader", head)
	r.call(&r.spec, "state_getRuntimeVersion", head)
	if _, err := fmt.Sscanf(header.Number, "0x%x", &r.height); err != nil {
		r.t.Fatal(header, err)
	}
	r.genesis, r.head = [32]byte(unhex(r.t, genesis)), [32]byte(unhex(r.t, head))
	if r.rt != nil {
		return
	}
	r.call(&md, "state_getMetadata", head)
	var err error
	if r.rt, err = metadata.Decode(unhex(r.t, md)); err != nil {
		r.t.Fatal(err)
	}
	if r.codec, err = extrinsic.For(r.rt); err != nil {
		r.t.Fatal(err)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (r *real) call(result any, method string, args ...any) {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, args...)})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var said struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || said.Error != nil {
		r.t.Fatalf("%s: %s %v", method, said.Error, err)
	}
	if err := json.Unmarshal(said.Result, result); err != nil {
		r.t.Fatalf("%s: %s: %v", method, said.Result, err)
	}
}

// payload returns a remark for the head.
func (r *real) payload(nonce uint64) extrinsic.Payload {
	c, err := r.rt.Call("System", "remark")
	if err != nil {
		r.t.Fatal(err)
	}
	p := extrinsic.Payload{Call: append(c.Index[:], scale.AppendText(nil, "hello")...), Nonce: nonce, Genesis: r.genesis, Birth: r.head}
	p.SpecVersion, p.TransactionVersion = r.spec.SpecVersion, r.spec.TransactionVersion
	p.Era, _ = extrinsic.BornAt(64, r.height)
	return p
}

func (r *real) sign(p extrinsic.Payload, by key.Signer) []byte {
	r.t.Helper()
	b, err := r.codec.Sign(r.t.Context(), p, by)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// validate returns what the runtime says of bytes from outside.
func (r *real) validate(b []byte) string {
	r.t.Helper()
	var answer string
	head := "0x" + hex.EncodeToString(r.head[:])
	r.call(&answer, "state_call", "TaggedTransactionQueue_validate_transaction", "0x02"+hex.EncodeToString(b)+head[2:], head)
	said := unhex(r.t, answer)
	if len(said) > 2 && said[0] == 1 && said[1] == 0 && said[2] < 6 {
		return [...]string{"Call", "Payment", "Future", "Stale", "BadProof", "AncientBirthBlock"}[said[2]]
	}
	if len(said) > 8 && said[0] == 0 {
		return "OK"
	}
	return answer
}

// A runtime that nobody here wrote takes what conch signs, refuses what is wrong of it by the right name, and what it carries out
// is read from its block.
func TestARealRuntimeTakesIt(t *testing.T) {
	t.Parallel()
	alice, other := pair(t, key.Sr25519), pair(t, key.Ed25519)
	third := pair(t, key.ECDSA)
	r := startReal(t, alice, other, third)
	for name, is := range map[string]struct {
		by     *key.Pair
		change func(*extrinsic.Payload)
		want   string
	}{
		"sr25519":  {alice, func(*extrinsic.Payload) {}, "OK"},
		"ed25519":  {other, func(*extrinsic.Payload) {}, "OK"},
		"ecdsa":    {third, func(*extrinsic.Payload) {}, "OK"},
		"a tip":    {alice, func(p *extrinsic.Payload) { p.Tip = big.NewInt(1_000_000_000) }, "OK"},
		"for ever": {alice, func(p *extrinsic.Payload) { p.Era, p.Birth = extrinsic.Era{}, p.Genesis }, "OK"},
		"64 kB": {alice, func(p *extrinsic.Payload) {
			p.Call = append(p.Call[:2:2], scale.AppendBlob(nil, make([]byte, 64<<10))...)
		}, "OK"},
		"stale":           {alice, func(p *extrinsic.Payload) { p.Nonce = 2 }, "Stale"},
		"ahead":           {alice, func(p *extrinsic.Payload) { p.Nonce = 4 }, "OK"},
		"another version": {alice, func(p *extrinsic.Payload) { p.SpecVersion++ }, "BadProof"},
		"another format":  {alice, func(p *extrinsic.Payload) { p.TransactionVersion++ }, "BadProof"},
		"another genesis": {alice, func(p *extrinsic.Payload) { p.Genesis[0]++ }, "BadProof"},
		"another branch":  {alice, func(p *extrinsic.Payload) { p.Birth[0]++ }, "BadProof"},
		"too poor for it": {alice, func(p *extrinsic.Payload) { p.Tip = new(big.Int).Lsh(big.NewInt(1), 100) }, "Payment"},
	} {
		p := r.payload(3)
		is.change(&p)
		if got := r.validate(r.sign(p, is.by)); got != is.want {
			t.Errorf("%s: %s, not %s", name, got, is.want)
		}
	}
	r.carriesOut(alice)
}

// carriesOut has an extrinsic put into a block, and reads it and its events there.
func (r *real) carriesOut(by *key.Pair) {
	p := r.payload(3)
	b := r.sign(p, by)
	var hash, block string
	r.call(&hash, "author_submitExtrinsic", "0x"+hex.EncodeToString(b))
	if want := extrinsic.Hash(b); hash != "0x"+hex.EncodeToString(want[:]) {
		r.t.Errorf("its hash is %s, not %x", hash, want)
	}
	r.call(&block, "dev_newBlock")
	var body struct{ Block struct{ Extrinsics []string } }
	r.call(&body, "chain_getBlock", block)
	at := -1
	for i, one := range body.Block.Extrinsics {
		e, err := r.codec.Decode(unhex(r.t, one))
		if err != nil {
			r.t.Fatal(err)
		}
		if e.Signed {
			at = i
			if err := r.codec.Verify(e, p.SpecVersion, p.TransactionVersion, p.Genesis, p.Birth); err != nil || e.Account != by.Account() {
				r.t.Error(e, err)
			}
		}
	}
	s, err := r.rt.Storage("System", "Events")
	if err != nil {
		r.t.Fatal(err)
	}
	k, err := extrinsic.StorageKey(s)
	if err != nil {
		r.t.Fatal(err)
	}
	var stored string
	r.call(&stored, "state_getStorage", "0x"+hex.EncodeToString(k), block)
	events, err := r.rt.Events(unhex(r.t, stored))
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, e := range events {
		if e.Extrinsic == at {
			names = append(names, e.Pallet+"."+e.Name)
		}
		if _, err := r.rt.EventFields(e); err != nil {
			r.t.Error(e.Pallet, e.Name, err)
		}
	}
	if at < 0 || !strings.Contains(strings.Join(names, " "), "System.ExtrinsicSuccess") {
		r.t.Errorf("extrinsic %d has the events %v", at, names)
	}
}
