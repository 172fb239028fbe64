// Package attacker attacks a contract of the sequencer on a private chain: it watches what others hand to the chain's pool,
// and sends at once, at a higher price and from accounts of its own, what might land in their place. It may have the key of
// a member, as a member that cheats.
//
// It shares no code with what the nodes send: it takes their data apart and signs by itself. What became of it is read
// from the chain, by packages explorer and auditor.
package attacker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/conchhq/conch/chain/evm/evmtest"
	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
)

// Config says what is attacked.
type Config struct {
	URL      string // of the chain's node, which gives money to accounts (conch-devnode)
	Chain    uint64
	Contract string // its address
	Member   string // the private key of a member that cheats, in hexadecimal digits; empty: there is none
	Place    uint64 // of that member in the contract
}

// Kinds are the kinds of attack, in the order in which they take turns. Each has an account of its own.
var kinds = []string{auditor.Copied, auditor.Moved, auditor.Revoked, auditor.Stolen, auditor.Regranted, auditor.Replayed}

// wallet is an account of the attacker.
type wallet struct {
	key   *evmtest.Key
	tip   uint64 // that it pays for a unit of gas, in wei
	nonce uint64
	sent  int
}

// Attacker belongs to one goroutine at a time.
type Attacker struct {
	cfg     Config
	chain   *rpc.Client
	address []byte // of the contract
	domain  []byte // EIP-712's separator
	member  *evmtest.Key
	wallets map[string]*wallet // by kind
	filter  string             // of what is new in the pool
	old     []pooled           // what others have sent, in the order in which it was seen
	seen    map[string]bool
	turn    int
}

// patience is for one question to a local node.
const patience = 10 * time.Second

// tip is what the attacker pays for a unit of gas, in wei: more than any node does.
const tip = 20_000_000_000

// sign returns the next transaction of the account, with as much gas as another one has.
func (w *wallet) sign(ctx context.Context, chain uint64, to, data []byte, gas string) (string, error) {
	limit, err := rpc.Number(gas)
	if err != nil {
		return "", err
	}
	return w.key.Raw(ctx, chain, w.nonce, w.tip, limit, to, data)
}

// lookEvery is short beside the time of a block, so that a copy can be in the block of what it copies, before it.
const lookEvery = 10 * time.Millisecond

// New makes the accounts, which the chain gives money to.
func New(ctx context.Context, cfg Config) (*Attacker, error) {
	a := &Attacker{cfg: cfg, chain: rpc.New(cfg.URL, patience), wallets: map[string]*wallet{}, seen: map[string]bool{}}
	var err error
	if a.address, err = hex.DecodeString(strings.TrimPrefix(cfg.Contract, "0x")); err != nil {
		return nil, err
	}
	a.domain = keccak(named("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
		keccak([]byte("conch ledger")), keccak([]byte("1")), number(cfg.Chain), padded(a.address))
	if cfg.Member != "" {
		if a.member, err = keyOf(cfg.Member); err != nil {
			return nil, err
		}
	}
	for _, kind := range kinds {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // it never fails
		secret[0] &= 0x7f        // below the order of the curve
		key, err := evmtest.KeyOf(secret)
		if err != nil {
			return nil, err
		}
		a.wallets[kind] = &wallet{key: key, tip: tip}
		if err := a.chain.Ask(ctx, nil, "dev_fund", key.Account().String(), "0xe8d4a51000"); err != nil { // gwei
			return nil, err
		}
	}
	return a, a.chain.Ask(ctx, &a.filter, "eth_newPendingTransactionFilter", true)
}

func keyOf(text string) (*evmtest.Key, error) {
	secret, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return nil, errors.New("the member's key is no key") // the text is a secret
	}
	return evmtest.KeyOf(secret)
}

// Run attacks until the context ends. A chain that does not answer is asked again.
func (a *Attacker) Run(ctx context.Context) {
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	defer a.chain.Close()
	for ctx.Err() == nil {
		_ = a.look(ctx) // what is refused before it is in the pool has done no harm
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// Attack returns what was sent so far.
func (a *Attacker) Attack() auditor.Attack {
	r := auditor.Attack{Accounts: map[string]string{}, Sent: map[string]int{}}
	for kind, w := range a.wallets {
		r.Accounts[w.key.Account().String()] = kind
		r.Sent[kind] = w.sent
	}
	return r
}

// pooled is a transaction of another.
type pooled struct{ Hash, From, To, Input, Gas string }

// look attacks what is new in the pool.
func (a *Attacker) look(ctx context.Context) error {
	var found []pooled
	if err := a.chain.Ask(ctx, &found, "eth_getFilterChanges", a.filter); err != nil {
		// A chain that was away has forgotten it.
		return errors.Join(err, a.chain.Ask(ctx, &a.filter, "eth_newPendingTransactionFilter", true))
	}
	mine := a.Attack().Accounts
	var faults []error
	for _, p := range found {
		if _, own := mine[strings.ToLower(p.From)]; own || !strings.EqualFold(p.To, a.cfg.Contract) || a.seen[p.Hash] {
			continue
		}
		a.seen[p.Hash] = true
		a.old = append(a.old, p)
		faults = append(faults, a.strike(ctx, auditor.Copied, p))
		a.turn++
		faults = append(faults, a.strike(ctx, kinds[1+a.turn%(len(kinds)-1)], p))
	}
	return errors.Join(faults...)
}

// oldFor is how many other transactions came after one that is replayed.
const oldFor = 8

// strike sends one attack on a transaction, unless its kind has no use for it.
func (a *Attacker) strike(ctx context.Context, kind string, p pooled) error {
	data, err := hex.DecodeString(strings.TrimPrefix(p.Input, "0x"))
	if err != nil {
		return err
	}
	w := a.wallets[kind]
	switch kind {
	case auditor.Copied:
	case auditor.Replayed:
		if len(a.old) <= oldFor {
			return nil
		}
		p = a.old[a.turn*7%(len(a.old)-oldFor)]
		data, err = hex.DecodeString(strings.TrimPrefix(p.Input, "0x"))
	case auditor.Revoked:
		data, err = a.revoke(data, w.key)
	default:
		data, err = a.forge(kind, data, w.key)
	}
	if err != nil || data == nil {
		return err
	}
	raw, err := w.sign(ctx, a.cfg.Chain, a.address, data, p.Gas)
	if err != nil {
		return err
	}
	if err := a.chain.Ask(ctx, new(string), "eth_sendRawTransaction", raw); err != nil {
		n, again := a.chain.Count(ctx, w.key.Account().String(), "pending")
		if again == nil {
			w.nonce = n
		}
		return fmt.Errorf("%s: %w", kind, errors.Join(err, again))
	}
	w.nonce++
	w.sent++
	return nil
}

// signer is whose key an attack uses that is not sent by a member: the attacker's, and every other time the member's.
func (a *Attacker) signer(own *evmtest.Key) *evmtest.Key {
	if a.member != nil && a.turn/len(kinds)%2 == 1 {
		return a.member
	}
	return own
}

// isMember reports whether an account is that of the member, whose own intents are none to attack.
func (a *Attacker) isMember(account []byte) bool {
	return a.member != nil && string(account) == string(a.member.Account())
}
