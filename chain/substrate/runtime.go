package substrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/extrinsic"
	"github.com/conchhq/conch/chain/substrate/internal/node"
	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/ss58"
)

// chainRuntime is a version of the chain's runtime: how bytes are read that it made, and signed that it takes.
type chainRuntime struct {
	*metadata.Runtime
	version node.Version
	account metadata.Storage
	deposit *big.Int // the existential deposit
	hashes  uint64   // how many blocks' hashes it knows; 0: unknown
	codec   *extrinsic.Codec
}

// mostRuntimes are kept, each with its metadata. A chain has one or two at a time.
const mostRuntimes = 8

// runtimeAfter returns the runtime in the state after a block, which makes the next one (Z13). Its metadata is read once for each version.
func (c *Chain) runtimeAfter(ctx context.Context, at chain.Hash) (*chainRuntime, error) {
	version, err := c.view.Version(ctx, at)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	known := c.runtimes[version]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	raw, err := c.metadataAfter(ctx, at)
	if err != nil {
		return nil, err
	}
	rt, err := newRuntime(version, raw)
	if err != nil {
		return nil, fmt.Errorf("%w: the metadata of %v at %s: %w", chain.ErrUnsupported, version, c.view, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.runtimes) >= mostRuntimes {
		clear(c.runtimes)
	}
	c.runtimes[version] = rt
	return rt, nil
}

// metadataAfter reads the newest version of the metadata that is understood here. Older runtimes have version 14 alone.
func (c *Chain) metadataAfter(ctx context.Context, at chain.Hash) ([]byte, error) {
	if raw, err := c.view.Execute(ctx, at, "Metadata_metadata_versions", nil); err == nil {
		d := scale.NewDecoder(raw)
		var versions []uint32
		for n := d.Length(4); n > 0; n-- {
			versions = append(versions, d.U32())
		}
		for _, want := range []uint32{16, 15} {
			if d.Err() != nil || !slices.Contains(versions, want) {
				continue
			}
			if raw, err := c.view.Execute(ctx, at, "Metadata_metadata_at_version", appendU32(nil, want)); err == nil {
				if o := scale.NewDecoder(raw); o.Option() {
					if b := o.Blob(); o.Err() == nil {
						return b, nil
					}
				}
			}
		}
	} else if errors.Is(err, chain.ErrUnreachable) {
		return nil, err
	}
	var raw node.Bytes
	err := c.view.Client().Call(ctx, &raw, "state_getMetadata", node.Bytes(at))
	return raw, err
}

func newRuntime(version node.Version, raw []byte) (*chainRuntime, error) {
	md, err := metadata.Decode(raw)
	if err != nil {
		return nil, err
	}
	rt := &chainRuntime{Runtime: md, version: version, deposit: new(big.Int)}
	if rt.account, err = md.Storage("System", "Account"); err != nil {
		return nil, err
	}
	if rt.codec, err = extrinsic.For(md); err != nil {
		return nil, err
	}
	if err := checkExtensions(md); err != nil {
		return nil, err
	}
	if k, err := md.Constant("Balances", "ExistentialDeposit"); err == nil {
		if rt.deposit, err = rt.number(k); err != nil {
			return nil, err
		}
	}
	if k, err := md.Constant("System", "BlockHashCount"); err == nil {
		if n, err := rt.number(k); err == nil && n.IsUint64() {
			rt.hashes = n.Uint64()
		}
	}
	return rt, nil
}

func (rt *chainRuntime) number(k metadata.Constant) (*big.Int, error) {
	v, err := rt.Value(k.Type, k.Value)
	if err != nil {
		return nil, err
	}
	return toNumber(v)
}

var errNumber = errors.New("what should be a number is none")

func toNumber(v any) (*big.Int, error) {
	switch v := v.(type) {
	case uint64:
		return new(big.Int).SetUint64(v), nil
	case *big.Int:
		return v, nil
	}
	return nil, errNumber
}

// held is what a state has of an account.
type held struct {
	exists bool
	nonce  uint64
	free   *big.Int
}

// accountsAt reads accounts as of one block (Z12).
func (c *Chain) accountsAt(ctx context.Context, rt *chainRuntime, at chain.Hash, accounts []chain.Account) ([]held, error) {
	keys := make([][]byte, len(accounts))
	for i, a := range accounts {
		var err error
		if keys[i], err = extrinsic.StorageKey(rt.account, []byte(a)); err != nil {
			return nil, fmt.Errorf("%w: %w", chain.ErrUnsupported, err)
		}
	}
	values, err := c.view.Storage(ctx, at, keys...)
	if err != nil {
		return nil, err
	}
	all := make([]held, len(accounts))
	for i, raw := range values {
		if all[i], err = rt.readAccount(raw); err != nil {
			return nil, fmt.Errorf("%w: what %s has of %v cannot be read: %w", chain.ErrAnswer, c.view, accounts[i], err)
		}
	}
	return all, nil
}

// readAccount reads a value of System.Account. An account without a reason to exist does not.
func (rt *chainRuntime) readAccount(raw []byte) (h held, err error) {
	h.free = new(big.Int)
	if raw == nil || bytes.Equal(raw, rt.account.Default) {
		return h, nil
	}
	v, err := rt.Value(rt.account.Value, raw)
	if err != nil {
		return h, err
	}
	fields, is := v.(metadata.Fields)
	data, has := fields.Get("data").(metadata.Fields)
	nonce, counts := fields.Get("nonce").(uint64)
	if !is || !has || !counts {
		return h, errNumber
	}
	h.exists, h.nonce = true, nonce
	h.free, err = toNumber(data.Get("free"))
	return h, err
}

// eventsKey returns the key of the events of a block, which the runtime has that made it.
func (rt *chainRuntime) eventsKey() ([]byte, error) {
	s, err := rt.Storage("System", "Events")
	if err != nil {
		return nil, err
	}
	return extrinsic.StorageKey(s)
}

// address is an account as JSON-RPC takes it.
type address chain.Account

// MarshalJSON implements json.Marshaler.
func (a address) MarshalJSON() ([]byte, error) {
	if len(a) == ethereumSize {
		return json.Marshal(chain.Account(a))
	}
	return json.Marshal(ss58.Encode([]byte(a), ss58.Generic))
}

// ethereumSize is how many bytes an account of an Ethereum key has.
const ethereumSize = 20
