package substrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/extrinsic"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/metadata"
)

// needed are extensions without which a signature would be good for longer than Signed.Until says, or on other chains. One of each.
var needed = [][]string{{"CheckMortality", "CheckEra"}, {"CheckGenesis"}, {"CheckSpecVersion"}}

// checkExtensions returns an error if the runtime lacks an extension that is needed.
func checkExtensions(md *metadata.Runtime) error {
	for _, names := range needed {
		if !slices.ContainsFunc(md.Extensions(), func(e metadata.Extension) bool { return slices.Contains(names, e.Name) }) {
			return fmt.Errorf("it has no extension %s, without which what is signed would be good for ever, or elsewhere", names[0])
		}
	}
	return nil
}

// payload is what is signed, beside what the runtime and the genesis say.
type payload struct {
	call   []byte
	period uint64
	birth  chain.Block
	nonce  uint64
	tip    *big.Int
}

// signExtrinsic builds an extrinsic and has it signed. The error wraps chain.ErrKey.
func (rt *chainRuntime) signExtrinsic(ctx context.Context, s key.Signer, genesis chain.Hash, p payload) ([]byte, error) {
	era, _ := extrinsic.BornAt(p.period, p.birth.Number) // for so short a period the birth is as it is asked for
	return rt.codec.Sign(ctx, extrinsic.Payload{
		Call: p.call, Era: era, Nonce: p.nonce, Tip: p.tip, SpecVersion: rt.version.Spec, TransactionVersion: rt.version.Transaction,
		Genesis: [32]byte([]byte(genesis)), Birth: [32]byte([]byte(p.birth.Hash)),
	}, s)
}

// verifyBorn checks the signature of an extrinsic on the branch of a block, given the height of its birth. The error wraps
// chain.ErrUnproven if it does not fit.
func (c *Chain) verifyBorn(ctx context.Context, rt *chainRuntime, x extrinsic.Extrinsic, on chain.Block, number uint64) error {
	birth := c.cfg.Genesis
	if x.Era.Period > 0 {
		line, err := c.view.LineTo(ctx, on, number, number)
		if err != nil {
			return err
		}
		if len(line) != 1 {
			return fmt.Errorf("%w: its birth, block %d, is not below its block", chain.ErrUnproven, number)
		}
		birth = line[0].Hash
	}
	err := rt.codec.Verify(x, rt.version.Spec, rt.version.Transaction, [32]byte([]byte(c.cfg.Genesis)), [32]byte([]byte(birth)))
	if err != nil {
		return fmt.Errorf("%w: it %w", chain.ErrUnproven, err)
	}
	return nil
}

// Call returns a named call as an intent has it, in Data alone: the numbers that stand for pallet and call change from one runtime to
// the next, and would then be another call (Z14).
func Call(n extrinsic.Named) chain.Call { return chain.Call{Data: n.Data()} }

// ParseCall is the inverse of Call, or says what is wrong.
func ParseCall(c chain.Call) (extrinsic.Named, error) {
	if len(c.To) > 0 || c.Value != nil && c.Value.Sign() != 0 {
		return extrinsic.Named{}, errors.New("on this chain a call has a pallet, a name and arguments, and no receiver or value beside them")
	}
	return extrinsic.ParseNamed(c.Data)
}

// nameCall returns what bytes are in this runtime.
func (rt *chainRuntime) nameCall(raw []byte) (extrinsic.Named, error) {
	if len(raw) < 2 {
		return extrinsic.Named{}, errors.New("a call has at least two bytes")
	}
	call, err := rt.CallAt([2]byte(raw))
	if err != nil {
		return extrinsic.Named{}, err
	}
	return extrinsic.Name(rt.Runtime, call.Pallet, call.Name, bytes.Clone(raw[2:]))
}
