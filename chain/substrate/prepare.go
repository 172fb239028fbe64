package substrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"runtime"
	"sync"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/node"
	"github.com/conchhq/conch/chain/substrate/internal/rules"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/scale"
)

// market is what attempts are signed by: all of it as of one head (Z12).
type market struct {
	head, final node.Header
	rt          *chainRuntime
	held        map[chain.Account]held
	spent       map[chain.Account]*big.Int // by the drafts before, of one Prepare
	filler      []byte
}

var noTip = new(big.Int)

// market reads what is needed to sign for some accounts.
func (c *Chain) market(ctx context.Context, accounts []chain.Account) (*market, error) {
	m := &market{held: map[chain.Account]held{}, spent: map[chain.Account]*big.Int{}}
	var err error
	if m.head, m.final, err = c.view.Tips(ctx); err != nil {
		return nil, err
	}
	if m.rt, err = c.runtimeAfter(ctx, m.head.Hash); err != nil {
		return nil, err
	}
	all, err := c.accountsAt(ctx, m.rt, m.head.Hash, accounts)
	if err != nil {
		return nil, err
	}
	for i, a := range accounts {
		m.held[a] = all[i]
	}
	remark, err := m.rt.Call("System", "remark")
	if err != nil {
		return nil, fmt.Errorf("%w: without a call that does nothing no nonce can be filled: %w", chain.ErrUnsupported, err)
	}
	m.filler = scale.AppendBlob(remark.Index[:], nil)
	return m, nil
}

// callBytes returns the bytes of a draft's call.
func (m *market) callBytes(d chain.Draft) ([]byte, error) {
	if d.Filler {
		return m.filler, nil
	}
	n, err := ParseCall(d.Call)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", chain.ErrCall, err)
	}
	raw, err := n.Call(m.rt.Runtime)
	if err != nil {
		return nil, fmt.Errorf("%w: %v: %w", chain.ErrCall, m.rt.version, err)
	}
	return raw, nil
}

// Prepare implements chain.Chain.
func (c *Chain) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	var accounts []chain.Account
	seen := map[chain.Account]bool{}
	for _, d := range drafts {
		if !seen[d.Account] {
			seen[d.Account], accounts = true, append(accounts, d.Account)
		}
	}
	m, err := c.market(ctx, accounts)
	if err != nil {
		return nil, err
	}
	prepared := make([]chain.Prepared, len(drafts))
	var signing sync.WaitGroup
	workers := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, d := range drafts {
		p, err := c.plan(ctx, m, d)
		if errors.Is(err, chain.ErrUnreachable) {
			signing.Wait()
			return nil, err
		}
		if err != nil {
			prepared[i].Err = err
			continue
		}
		workers <- struct{}{}
		signing.Go(func() {
			defer func() { <-workers }()
			prepared[i].Signed, prepared[i].Err = c.sign(ctx, m, d, p)
		})
	}
	signing.Wait()
	return prepared, nil
}

// plan is an attempt before it is signed.
type plan struct {
	call  []byte
	fee   *big.Int // without the tip
	tip   *big.Int
	birth rules.Birth
}

// plan decides what a draft's attempt is.
func (c *Chain) plan(ctx context.Context, m *market, d chain.Draft) (p plan, err error) {
	if c.keys[d.Account] == nil {
		return p, fmt.Errorf("%w %v: it has no configured signer", chain.ErrKey, d.Account)
	}
	h := m.held[d.Account]
	if !h.exists {
		return p, fmt.Errorf("%w: %v does not exist, and has no nonce until it does", chain.ErrFunds, d.Account) // Z9
	}
	if p.call, err = m.callBytes(d); err != nil {
		return p, err
	}
	if p.fee, err = c.feeOf(ctx, m, d.Account, p.call); err != nil {
		return p, err
	}
	p.birth = rules.BirthOf(m.head.Number, m.final.Number, c.period(m.rt, d.Brief))
	if p.tip, err = c.tipOf(ctx, m, d, p); err != nil {
		return p, err
	}
	all := feeWith(p.fee, p.tip)
	if most := d.Most; most.Max != nil && all.Max.Cmp(most.Max) > 0 || most.Tip != nil && all.Tip.Cmp(most.Tip) > 0 {
		return p, fmt.Errorf("%w: it costs %v, %v of it as a tip, and at most %v and %v are allowed", chain.ErrFee, all.Max, all.Tip, most.Max, most.Tip)
	}
	f := rules.Funds{Free: h.free, Deposit: m.rt.deposit, Fee: all.Max}
	if err := rules.Payable(f, d.Owed); err != nil {
		return p, err
	}
	if before := m.spent[d.Account]; before != nil {
		owed := new(big.Int).Set(before)
		if d.Owed != nil {
			owed.Add(owed, d.Owed)
		}
		if err := rules.Payable(f, owed); err != nil {
			return p, err
		}
	} else {
		m.spent[d.Account] = new(big.Int)
	}
	if !c.cfg.AllowReaping && !d.Filler {
		t, err := m.rt.transferOf(p.call)
		if err != nil {
			return p, fmt.Errorf("%w: %w", chain.ErrCall, err)
		}
		if err := rules.MayReap(t, f); err != nil {
			return p, err
		}
	}
	m.spent[d.Account].Add(m.spent[d.Account], all.Max)
	return p, nil
}

func (c *Chain) period(rt *chainRuntime, brief bool) uint64 {
	if brief {
		return rules.Brief
	}
	return rules.Period(c.cfg.Mortality, rt.hashes)
}

// tipOf returns what an attempt offers beside its fee: nothing at first, the same if the one before has worn out (Z4), and more, as the
// pool measures it, to take another's place (Z16).
func (c *Chain) tipOf(ctx context.Context, m *market, d chain.Draft, p plan) (*big.Int, error) {
	switch {
	case !d.Same.None() && d.Same.Tip != nil:
		return d.Same.Tip, nil
	case d.Above.None():
		return firstTip(d.Speed, p.fee), nil
	}
	above, most := d.Above.Tip, d.Most.Tip
	if above == nil {
		above = noTip
	}
	return rules.Raise(above, stepOf(p.fee), most, func(tip *big.Int) (uint64, error) { return c.priorityOf(ctx, m, d, p, tip) })
}

// stepOf is the first raise: a tenth of the fee.
func stepOf(fee *big.Int) *big.Int { return new(big.Int).Div(fee, big.NewInt(10)) }

func firstTip(s chain.Speed, fee *big.Int) *big.Int {
	if s == chain.Fast {
		return stepOf(fee)
	}
	return noTip
}

func feeWith(fee, tip *big.Int) chain.Fee {
	return chain.Fee{Max: new(big.Int).Add(fee, tip), Tip: tip}
}

// sign signs an attempt.
func (c *Chain) sign(ctx context.Context, m *market, d chain.Draft, p plan) (chain.Signed, error) {
	birth, err := c.birthBlock(ctx, m, p.birth)
	if err != nil {
		return chain.Signed{}, err
	}
	raw, err := m.rt.signExtrinsic(ctx, c.keys[d.Account], c.cfg.Genesis, payload{
		call: p.call, period: c.period(m.rt, d.Brief), birth: birth, nonce: d.Index, tip: p.tip,
	})
	if err != nil {
		return chain.Signed{}, err
	}
	return chain.Signed{
		Account: d.Account, Index: d.Index, Hash: node.HashOf(raw), Bytes: raw, Fee: feeWith(p.fee, p.tip), Gas: 1, Filler: d.Filler,
		Until: p.birth.Until, Version: m.rt.version.String(),
	}, nil
}

// birthBlock returns the block by which an attempt is signed, on the branch of the head.
func (c *Chain) birthBlock(ctx context.Context, m *market, b rules.Birth) (chain.Block, error) {
	line, err := c.view.LineTo(ctx, m.head.Block, b.Number, b.Number)
	if err == nil && len(line) != 1 {
		err = fmt.Errorf("%w: block %d, by which an attempt would be signed, is not known", chain.ErrThread, b.Number)
	}
	if err != nil {
		return chain.Block{}, err
	}
	return line[0], nil
}

// farNonce is one that no account comes to before a brief attempt is over.
const farNonce = math.MaxUint32

// priorityOf asks the runtime at the head for the priority of a call with a tip (Z16). What it is shown has a nonce that the account does
// not come to while the signature is good: so nothing that is not stored yet could be carried out, whatever the endpoint does with it.
func (c *Chain) priorityOf(ctx context.Context, m *market, d chain.Draft, p plan, tip *big.Int) (uint64, error) {
	at := rules.BirthOf(m.head.Number, m.final.Number, rules.Brief)
	birth, err := c.birthBlock(ctx, m, at)
	if err != nil {
		return 0, err
	}
	raw, err := m.rt.signExtrinsic(ctx, c.keys[d.Account], c.cfg.Genesis, payload{
		call: p.call, period: rules.Brief, birth: birth, nonce: farNonce, tip: tip,
	})
	if err != nil {
		return 0, err
	}
	const external = 2 // by whom it comes
	args := append(append([]byte{external}, raw...), []byte(m.head.Hash)...)
	out, err := c.view.Execute(ctx, m.head.Hash, "TaggedTransactionQueue_validate_transaction", args)
	if err != nil {
		return 0, err
	}
	o := scale.NewDecoder(out)
	if failed := o.Byte(); failed != 0 {
		if bytes.Equal(out[1:], []byte{0, 1}) { // it is invalid, since the account cannot pay
			return 0, fmt.Errorf("%w a tip of %v", chain.ErrFunds, tip)
		}
		return 0, fmt.Errorf("%w: the runtime does not take the attempt: validity %x", chain.ErrUnclear, out)
	}
	priority := o.U64()
	return priority, o.Err()
}

// fees are those of calls at one head: what is asked once for calls of one kind and length is the same for all of them.
type fees struct {
	head  chain.Hash
	known map[string]*big.Int
}

// feeOf asks the runtime at the head what a call costs without a tip.
func (c *Chain) feeOf(ctx context.Context, m *market, a chain.Account, call []byte) (*big.Int, error) {
	kind := fmt.Sprintf("%x %d %d", call[:2], len(call), len(a))
	c.mu.Lock()
	if c.fees.head != m.head.Hash {
		c.fees = fees{m.head.Hash, map[string]*big.Int{}}
	}
	known := c.fees.known[kind]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	raw, err := m.rt.signExtrinsic(ctx, nobody{a, c.kindOf(a)}, c.cfg.Genesis, payload{call: call, period: rules.DefaultPeriod, birth: m.head.Block, nonce: farNonce, tip: noTip})
	if err != nil {
		return nil, err
	}
	out, err := c.view.Execute(ctx, m.head.Hash, "TransactionPaymentApi_query_info", appendU32(raw, uint32(len(raw))))
	if err != nil {
		return nil, err
	}
	if len(out) < 16 { // before it stand the weight, which has had two forms, and the class
		return nil, fmt.Errorf("%w: what %s says of a fee cannot be read", chain.ErrAnswer, c.view)
	}
	fee := scale.NewDecoder(out[len(out)-16:]).U128()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fees.head == m.head.Hash {
		c.fees.known[kind] = fee
	}
	return fee, nil
}

// nobody signs with no key: what is only weighed needs no signature that fits.
type nobody struct {
	account chain.Account
	kind    key.Kind
}

func (n nobody) Kind() key.Kind         { return n.kind }
func (n nobody) Account() chain.Account { return n.account }
func (n nobody) Sign(context.Context, []byte) ([]byte, error) {
	return make([]byte, n.kind.SignatureSize()), nil
}

func (c *Chain) kindOf(a chain.Account) key.Kind {
	if s := c.keys[a]; s != nil {
		return s.Kind()
	}
	if len(a) == ethereumSize {
		return key.Ethereum
	}
	return key.Sr25519
}
