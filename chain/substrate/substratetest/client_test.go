package substratetest_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/oasisprotocol/curve25519-voi/primitives/sr25519"
	"go.uber.org/goleak"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/sha3"

	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/substratetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a plain client of a node: it asks one thing after the other.
type client struct {
	t      testing.TB
	socket *websocket.Conn
	id     int
	heard  []notice // notifications that came while an answer was waited for
}

type notice struct {
	Subscription any             `json:"subscription"`
	Result       json.RawMessage `json:"result"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

func (f *failure) Error() string { return fmt.Sprintf("%d %s (%v)", f.Code, f.Message, f.Data) }

const patience = 20 * time.Second

func start(t testing.TB, cfg substratetest.Config) *substratetest.Node {
	t.Helper()
	node, err := substratetest.Start(cfg)
	ok(t, err)
	t.Cleanup(node.Close)
	return node
}

func dial(t testing.TB, url string) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	socket, answer, err := websocket.Dial(ctx, url, nil)
	ok(t, err)
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	socket.SetReadLimit(32 << 20)
	t.Cleanup(func() { _ = socket.CloseNow() })
	return &client{t: t, socket: socket}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type message struct {
	ID     any             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *failure        `json:"error"`
	Method string          `json:"method"`
	Params notice          `json:"params"`
}

func (c *client) write(text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	ok(c.t, c.socket.Write(ctx, websocket.MessageText, []byte(text)))
}

func (c *client) read() ([]byte, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, raw, err := c.socket.Read(ctx)
	return raw, err
}

// try asks, and returns what a node says.
func (c *client) try(method string, params ...any) (json.RawMessage, error) {
	c.t.Helper()
	c.id++
	if params == nil {
		params = []any{}
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	ok(c.t, err)
	c.write(string(raw))
	for {
		raw, err := c.read()
		if err != nil {
			return nil, err
		}
		var m message
		ok(c.t, json.Unmarshal(raw, &m))
		if m.Method != "" {
			c.heard = append(c.heard, m.Params)
			continue
		}
		if m.ID != float64(c.id) {
			c.t.Fatalf("got the answer %s to call %d", raw, c.id)
		}
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	}
}

// ask asks what must succeed.
func (c *client) ask(into any, method string, params ...any) {
	c.t.Helper()
	raw, err := c.try(method, params...)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	if into != nil {
		ok(c.t, json.Unmarshal(raw, into))
	}
}

func (c *client) text(method string, params ...any) string {
	c.t.Helper()
	var text *string
	c.ask(&text, method, params...)
	if text == nil {
		return ""
	}
	return *text
}

// refuses wants an error of a code.
func (c *client) refuses(code int, data string, method string, params ...any) {
	c.t.Helper()
	raw, err := c.try(method, params...)
	f, is := err.(*failure) //nolint:errorlint // try makes it
	if !is || f.Code != code || data != "" && !bytes.Contains(fmt.Append(nil, f), []byte(data)) {
		c.t.Fatalf("%s: got %s, %v; want the error %d %s", method, raw, err, code, data)
	}
}

// next returns the next notification of a subscription.
func (c *client) next(subscription any) string {
	c.t.Helper()
	for {
		for i, n := range c.heard {
			if n.Subscription == subscription {
				c.heard = append(c.heard[:i:i], c.heard[i+1:]...)
				return string(n.Result)
			}
		}
		raw, err := c.read()
		if err != nil {
			c.t.Fatalf("while a notification is waited for: %v", err)
		}
		var m message
		ok(c.t, json.Unmarshal(raw, &m))
		c.heard = append(c.heard, m.Params)
	}
}

func (c *client) wants(subscription any, want ...string) {
	c.t.Helper()
	for _, one := range want {
		if got := c.next(subscription); got != one {
			c.t.Fatalf("the stream says %s, want %s", got, one)
		}
	}
}

// silent wants that nothing was said before an answer that comes now.
func (c *client) silent(subscription any) {
	c.t.Helper()
	c.ask(nil, "system_name")
	for _, n := range c.heard {
		if n.Subscription == subscription {
			c.t.Fatalf("the stream says %s, want nothing", n.Result)
		}
	}
}

// key signs as one kind of key does.
type key struct {
	account string
	kind    byte
	sign    func(payload []byte) []byte
}

const (
	kindEd25519, kindSr25519, kindECDSA, kindEthereum = 0, 1, 2, 255
)

func newKey(t testing.TB, kind, seed byte) key {
	t.Helper()
	secret := bytes.Repeat([]byte{seed}, 32)
	k := key{kind: kind}
	switch kind {
	case kindEd25519:
		private := ed25519.NewKeyFromSeed(secret)
		k.account = string(private[32:])
		k.sign = func(p []byte) []byte { return ed25519.Sign(private, p) }
	case kindSr25519:
		mini, err := sr25519.NewMiniSecretKeyFromBytes(secret)
		ok(t, err)
		pair := mini.ExpandEd25519().KeyPair()
		public, err := pair.PublicKey().MarshalBinary()
		ok(t, err)
		k.account = string(public)
		k.sign = func(p []byte) []byte {
			s, err := pair.Sign(nil, sr25519.NewSigningContext([]byte("substrate")).NewTranscriptBytes(p))
			ok(t, err)
			raw, err := s.MarshalBinary()
			ok(t, err)
			return raw
		}
	default:
		private := secp256k1.PrivKeyFromBytes(secret)
		hash := func(p []byte) []byte { sum := blake2b.Sum256(p); return sum[:] }
		k.account = string(hash(private.PubKey().SerializeCompressed()))
		if kind == kindEthereum {
			hash = func(p []byte) []byte { h := sha3.NewLegacyKeccak256(); h.Write(p); return h.Sum(nil) }
			k.account = string(hash(private.PubKey().SerializeUncompressed()[1:])[12:])
		}
		k.sign = func(p []byte) []byte {
			s := ecdsa.SignCompact(private, hash(p), false)
			return append(s[1:], s[0]-27)
		}
	}
	return k
}

// draft is a transaction before it is signed. Its zero value is an immortal remark of nonce 0 for the first runtime.
type draft struct {
	call    []byte
	nonce   uint64
	tip     *big.Int
	spec    uint32 // default 100
	period  uint64 // 0: immortal
	birth   substratetest.Block
	other   string // a genesis
	strange bool   // one more extension
}

func remark(text string) []byte { return scale.AppendText([]byte{0, 0}, text) }

func (k key) extrinsic(node *substratetest.Node, d draft) []byte {
	if d.call == nil {
		d.call = remark("hello")
	}
	if d.tip == nil {
		d.tip = new(big.Int)
	}
	if d.spec == 0 {
		d.spec = 100
	}
	genesis := node.Genesis()
	birth, extra := genesis, []byte{0}
	if d.period > 0 {
		birth = d.birth.Hash
		log := 0
		for 1<<log < d.period {
			log++
		}
		bits := uint64(min(max(log-1, 1), 15)) | uint64(d.birth.Number)%d.period/max(d.period>>12, 1)<<4
		extra = []byte{byte(bits), byte(bits >> 8)}
	}
	extra = scale.AppendCompact(extra, d.nonce)
	extra, _ = scale.AppendBigCompact(extra, d.tip)
	extra = append(extra, 0)
	if d.strange {
		extra = append(extra, 1, 2, 3, 4)
	}
	if d.other != "" {
		copy(genesis[:], d.other)
	}
	payload := append(append(append([]byte{}, d.call...), extra...), byte(d.spec), byte(d.spec>>8), 0, 0, 1, 0, 0, 0)
	payload = append(append(append(payload, genesis[:]...), birth[:]...), 0)
	if len(payload) > 256 {
		sum := blake2b.Sum256(payload)
		payload = sum[:]
	}
	signature := k.sign(payload)
	body := []byte{0x84}
	if k.kind != kindEthereum {
		body = append(append(append(body, 0), k.account...), k.kind)
	} else {
		body = append(body, k.account...)
	}
	body = append(append(append(body, signature...), extra...), d.call...)
	return scale.AppendBlob(nil, body)
}

func hexOf(b []byte) string { return "0x" + hex.EncodeToString(b) }

func hashOf(raw []byte) string {
	sum := substratetest.Hash(raw)
	return hexOf(sum[:])
}

// rich is a chain with accounts of much.
func rich(keys ...key) substratetest.Config {
	cfg := substratetest.Config{Accounts: map[string]*big.Int{}}
	for _, k := range keys {
		cfg.Accounts[k.account] = big.NewInt(1_000_000_000_000_000)
	}
	cfg.Ethereum = len(keys) > 0 && keys[0].kind == kindEthereum
	return cfg
}
