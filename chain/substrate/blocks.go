package substrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/extrinsic"
	"github.com/conchhq/conch/chain/substrate/internal/node"
	"github.com/conchhq/conch/chain/substrate/internal/rules"
	"github.com/conchhq/conch/chain/substrate/metadata"
)

// block is a block that was read: its body is proven, and its events, if the endpoint still has them, were read by the runtime that made
// it.
type block struct {
	node.Body
	made   *chainRuntime // by its parent's state (Z13)
	events []metadata.Event
	told   bool // there are events; else what was done is not known (Z10)
}

// read reads a block. The error wraps chain.ErrNotFound if the endpoint does not have it.
func (c *Chain) read(ctx context.Context, hash chain.Hash) (*block, error) {
	body, err := c.view.Body(ctx, hash)
	if err != nil {
		return nil, err
	}
	b := &block{Body: body}
	if b.Number == 0 {
		return b, nil // nobody has made it, and nothing was sent in it
	}
	if b.made, err = c.runtimeAfter(ctx, b.Parent); err != nil {
		return nil, err
	}
	key, err := b.made.eventsKey()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", chain.ErrUnsupported, err)
	}
	values, err := c.view.Storage(ctx, hash, key)
	switch {
	case errors.Is(err, node.ErrStateGone), err == nil && values[0] == nil:
		return b, nil
	case err != nil:
		return nil, err
	}
	if b.events, err = b.made.Events(values[0]); err != nil {
		return nil, fmt.Errorf("%w: the events of block %v at %s: %w", chain.ErrAnswer, hash, c.view, err)
	}
	b.told = true
	return b, nil
}

// effect returns what the extrinsic of a place has done.
func (b *block) effect(place int) chain.Effect {
	var own []rules.Event
	for _, e := range b.events {
		if e.Extrinsic == place {
			own = append(own, rules.Event{Extrinsic: e.Extrinsic, Pallet: e.Pallet, Name: e.Name, Failure: b.made.failure(e)})
		}
	}
	return rules.EffectOf(own, place)
}

// failure names the dispatch error that an event has in it, empty if it has none: an error by its field's name, or a Result that is one.
func (rt *chainRuntime) failure(e metadata.Event) string {
	fields, err := rt.EventFields(e)
	if err != nil {
		return ""
	}
	switch fields := fields.(type) {
	case metadata.Fields:
		for _, f := range fields {
			v, is := f.Value.(metadata.Variant)
			switch {
			case is && (f.Name == "error" || f.Name == "dispatch_error"):
				return rt.ErrorName(v)
			case is && v.Name == failedResult:
				return rt.ErrorName(v.Value)
			}
		}
	case []any: // of older runtimes, whose events' fields have no names
		for _, one := range fields {
			v, is := one.(metadata.Variant)
			switch {
			case is && v.Name == failedResult:
				return rt.ErrorName(v.Value)
			case is && slices.Contains(dispatchErrors, v.Name):
				return rt.ErrorName(v)
			}
		}
	}
	return ""
}

const failedResult = "Err"

var dispatchErrors = []string{"Module", "Token", "Arithmetic", "BadOrigin", "CannotLookup", "ConsumerRemaining", "NoProviders", "TooManyConsumers", "Transactional", "Exhausted", "Corruption", "Unavailable"}

// placed is something of an account in a block, and where.
type placed struct {
	at  int // twice the place of its extrinsic, and one more for what came of it
	one chain.Inclusion
}

// of returns what the accounts have in the block, in its order.
func (b *block) of(accounts []chain.Account) []chain.Inclusion {
	var all []placed
	if b.made == nil {
		return nil
	}
	for i, raw := range b.Extrinsics {
		x, err := b.made.codec.Decode(raw)
		if err != nil || !x.Signed || !slices.Contains(accounts, x.Account) {
			continue // what cannot be decoded nobody here has signed: it is of another version of extrinsics
		}
		all = append(all, placed{2 * i, chain.Inclusion{Account: x.Account, Index: x.Nonce, Hash: node.HashOf(raw), Block: b.Block, Effect: b.effect(i)}})
	}
	for _, e := range b.events {
		if a, is := b.made.killed(e); is && slices.Contains(accounts, a) {
			at := 2*e.Extrinsic + 1
			if e.Extrinsic < 0 {
				at = 2 * len(b.Extrinsics)
			}
			all = append(all, placed{at, chain.Inclusion{Account: a, Block: b.Block, Reaped: true}})
		}
	}
	slices.SortStableFunc(all, func(x, y placed) int { return cmp.Compare(x.at, y.at) })
	in := make([]chain.Inclusion, len(all))
	for i, p := range all {
		in[i] = p.one
	}
	return in
}

// killed returns the account that an event says has ceased to exist (Z7).
func (rt *chainRuntime) killed(e metadata.Event) (chain.Account, bool) {
	if e.Pallet != "System" || e.Name != "KilledAccount" {
		return "", false
	}
	return chain.Account(e.Data), true // the account is all that it has
}

// Inclusions implements chain.Chain. The body is proven by the header (Z11), and with it what is in it; what it has done is the endpoint's
// word.
func (c *Chain) Inclusions(ctx context.Context, of chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	b, err := c.read(ctx, of.Hash)
	if err != nil {
		return nil, err
	}
	return b.of(accounts), nil
}

// Scan implements chain.Chain.
func (c *Chain) Scan(ctx context.Context, of chain.Block, a chain.Account, from uint64, most int) (found []chain.Inclusion, next uint64, err error) {
	top, err := c.view.Block(ctx, of.Hash)
	if err != nil {
		return nil, from, err
	}
	if from > top.Number || most < 1 {
		return nil, from, nil
	}
	to := min(top.Number, from+uint64(most)-1)
	line, err := c.view.LineTo(ctx, top, from, to)
	if err != nil {
		return nil, from, err
	}
	for _, one := range line {
		b, err := c.read(ctx, one.Hash)
		if err != nil {
			return found, one.Number, err
		}
		found = append(found, b.of([]chain.Account{a})...)
	}
	return found, to + 1, nil
}

// find returns the place of an account's extrinsic in the block. After a reaping the same bytes may be in it twice; the first counts.
func (b *block) find(a chain.Account, hash chain.Hash) (at int, x extrinsic.Extrinsic, has bool) {
	for i, raw := range b.Extrinsics {
		if node.HashOf(raw) != hash || b.made == nil {
			continue
		}
		x, err := b.made.codec.Decode(raw)
		if err == nil && x.Signed && (a == "" || x.Account == a) {
			return i, x, true
		}
	}
	return 0, x, false
}

// Prove implements chain.Chain. The extrinsic is decoded with the version that made its block, and its signature has to be over what it
// says, for that version, this genesis and the birth that its branch has.
func (c *Chain) Prove(ctx context.Context, in chain.Inclusion) (chain.Draft, error) {
	b, err := c.read(ctx, in.Block.Hash)
	if err != nil {
		return chain.Draft{}, err
	}
	if !slices.ContainsFunc(b.Extrinsics, func(raw []byte) bool { return node.HashOf(raw) == in.Hash }) {
		return chain.Draft{}, fmt.Errorf("%w: block %v does not have the transaction %v", chain.ErrNotFound, in.Block.Hash, in.Hash)
	}
	_, x, has := b.find("", in.Hash)
	if !has {
		return chain.Draft{}, fmt.Errorf("%w: %v cannot be decoded, or nobody has signed it", chain.ErrUnproven, in.Hash)
	}
	if err := c.verifyBorn(ctx, b.made, x, b.Block, x.Era.Birth(b.Number)); err != nil {
		return chain.Draft{}, err
	}
	n, err := b.made.nameCall(x.Call)
	if err != nil {
		return chain.Draft{}, fmt.Errorf("%w: the call of %v: %w", chain.ErrUnproven, in.Hash, err)
	}
	return chain.Draft{Account: x.Account, Index: x.Nonce, Call: Call(n)}, nil
}
