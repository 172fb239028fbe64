package extrinsic

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/scale"
)

// ErrExtension is in the error of For: the runtime wants something signed that conch does not know (Z15).
var ErrExtension = errors.New("conch does not know what this runtime wants to be signed")

// content is what a part of an extrinsic has.
type content byte

const (
	nothing content = iota
	absent          // an Option without a value
	era
	nonce
	tip
	tipAndAsset
	metadataHash // off
	specVersion
	transactionVersion
	genesis
	birth
)

// extension is one of a runtime, and what its value and its implicit value are.
type extension struct {
	metadata.Extension
	value, implicit content
}

// meanings are of the extensions whose values conch writes; all others have to be empty, or an Option.
var meanings = map[string][2]content{
	"CheckMortality":           {era, birth},
	"CheckEra":                 {era, birth},
	"CheckNonce":               {nonce, nothing},
	"ChargeTransactionPayment": {tip, nothing},
	"ChargeAssetTxPayment":     {tipAndAsset, nothing},
	"CheckMetadataHash":        {metadataHash, absent},
	"CheckSpecVersion":         {nothing, specVersion},
	"CheckTxVersion":           {nothing, transactionVersion},
	"CheckGenesis":             {nothing, genesis},
}

// extensionsOf finds what a runtime's extensions want. Each is tried: what would be written for it has to be a value of its type.
func extensionsOf(rt *metadata.Runtime) ([]extension, error) {
	sample := Payload{Tip: new(big.Int)}
	sample.Era, _ = BornAt(64, 100)
	var all []extension
	nonces := 0
	for _, e := range rt.Extensions() {
		x := extension{Extension: e}
		if known, found := meanings[e.Name]; found {
			x.value, x.implicit = known[0], known[1]
		}
		for _, part := range []struct {
			is   *content
			of   metadata.TypeID
			what string
		}{{&x.value, e.Value, "value"}, {&x.implicit, e.Implicit, "implicit value"}} {
			if *part.is == nothing && rt.IsOption(part.of) {
				*part.is = absent
			}
			d := scale.NewDecoder(part.is.append(nil, sample))
			if rt.Skip(part.of, d); d.Done() != nil {
				return nil, fmt.Errorf("%w: extension %s has the %s %s", ErrExtension, e.Name, part.what, rt.TypeName(part.of))
			}
		}
		if x.value == nonce {
			nonces++
		}
		all = append(all, x)
	}
	if nonces != 1 {
		return nil, fmt.Errorf("%w: it has %d extensions CheckNonce", ErrExtension, nonces)
	}
	return all, nil
}

// append appends what a part has for a payload.
func (c content) append(b []byte, p Payload) []byte {
	switch c {
	case nothing:
	case absent, metadataHash:
		b = append(b, 0)
	case era:
		b = p.Era.Append(b)
	case nonce:
		b = scale.AppendCompact(b, p.Nonce)
	case tip, tipAndAsset:
		if b, _ = scale.AppendBigCompact(b, p.tip()); c == tipAndAsset {
			b = append(b, 0)
		}
	case specVersion:
		b = appendU32(b, p.SpecVersion)
	case transactionVersion:
		b = appendU32(b, p.TransactionVersion)
	case genesis:
		b = append(b, p.Genesis[:]...)
	case birth:
		b = append(b, p.Birth[:]...)
	}
	return b
}

// read reads the value of an extension, as others may have written it, into what it is of.
func (x extension) read(rt *metadata.Runtime, e *Extrinsic, d *scale.Decoder) {
	switch x.value {
	case era:
		e.Era = readEra(d)
	case nonce:
		e.Nonce = d.Compact()
	case tip:
		e.Tip = d.BigCompact()
	case tipAndAsset:
		of := *d // the tip is its first part, and an Option follows
		e.Tip = of.BigCompact()
		rt.Skip(x.Value, d)
	case metadataHash:
		of := *d
		e.metadataHash = of.Byte() != 0
		rt.Skip(x.Value, d)
	case nothing, absent, specVersion, transactionVersion, genesis, birth:
		rt.Skip(x.Value, d)
	}
}
