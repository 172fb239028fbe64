package evm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Read returns the declaration of a contract on the chain, without Check.
func Read(ctx context.Context, node Node, address string) (ledger.Contract, error) {
	c, _, err := declared(ctx, bounded{node}, address)
	return c, err
}

func declared(ctx context.Context, node Node, address string) (c ledger.Contract, since uint64, err error) {
	if !common.IsHexAddress(address) {
		return c, 0, fmt.Errorf("%w: %q is no address", ledger.ErrOther, address)
	}
	var id hexutil.Uint64
	if err = node.CallContext(ctx, &id, "eth_chainId"); err != nil {
		return c, 0, err
	}
	answers := make([]hexutil.Bytes, 2)
	for i, s := range [][]byte{declarationSelector, sinceSelector} {
		message := map[string]any{"to": common.HexToAddress(address), "input": hexutil.Bytes(s)}
		if err = node.CallContext(ctx, &answers[i], "eth_call", message, "latest"); err != nil {
			return c, 0, blame(ctx, node, err)
		}
		if len(answers[i]) == 0 {
			return c, 0, fmt.Errorf("%w: there is none at %s on the chain %d", ledger.ErrOther, address, uint64(id))
		}
	}
	if c, err = decodeDeclaration(answers[0]); err != nil {
		return c, 0, err
	}
	since, ok := asNumber(answers[1])
	if !ok || len(answers[1]) != wordSize {
		return c, 0, fmt.Errorf("%w: it does not say since when it is there", ledger.ErrOther)
	}
	c.Chain, c.Address = uint64(id), common.HexToAddress(address).Hex()
	return c, since, nil
}

// blame says whether a call failed because of the contract, which then is another one, or of the endpoint. The texts and codes
// of clients do not tell: the endpoint does, if it answers, and carries out a call of nothing.
func blame(ctx context.Context, node Node, err error) error {
	if answer := rpc.Error(nil); !errors.As(err, &answer) {
		return err
	}
	var nothing hexutil.Bytes
	if node.CallContext(ctx, &nothing, "eth_call", map[string]any{"to": common.Address{}}, "latest") != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ledger.ErrOther, err)
}

// Check compares a contract on the chain with its declaration: chain, declaration, and its code byte by byte. It
// returns a Reader of it. The error says what differs.
func Check(ctx context.Context, node Node, c ledger.Contract) (*Reader, error) {
	asked := bounded{node}
	there, since, err := declared(ctx, asked, c.Address)
	if err != nil {
		return nil, err
	}
	if err := differ(there, c); err != nil {
		return nil, err
	}
	own, list, members, err := code(c, since)
	if err != nil {
		return nil, err
	}
	address := common.HexToAddress(c.Address)
	for _, part := range []struct {
		at   common.Address
		want []byte
	}{{address, own}, {list, members}} {
		var got hexutil.Bytes
		if err := asked.CallContext(ctx, &got, "eth_getCode", part.at, "latest"); err != nil {
			return nil, err
		}
		if !bytes.Equal(got, part.want) {
			return nil, fmt.Errorf("%w: the code at %v is not that of this version with this declaration", ledger.ErrOther, part.at)
		}
	}
	return &Reader{node: asked, address: address, contract: c, since: since, window: searched}, nil
}

// differ names every field in which two declarations differ.
func differ(there, here ledger.Contract) error {
	var faults []error
	for _, f := range []struct {
		name        string
		there, here any
		same        bool
	}{
		{"chain", there.Chain, here.Chain, there.Chain == here.Chain},
		{"address", there.Address, here.Address, there.Address == here.Address}, // its letters count in the ranking
		{"members", there.Members, here.Members, slices.Equal(there.Members, here.Members)},
		{"committee", there.Committee, here.Committee, slices.Equal(there.Committee, here.Committee)},
		{"needed", there.Needed, here.Needed, there.Needed == here.Needed},
		{"range", there.Range, here.Range, there.Range == here.Range},
		{"depth", there.Depth, here.Depth, there.Depth == here.Depth},
		{"life", there.Life, here.Life, there.Life == here.Life},
		{"policy", ranking.Default(there.Policy), ranking.Default(here.Policy), ranking.Default(there.Policy) == ranking.Default(here.Policy)},
		{"domain", there.Domain, here.Domain, there.Domain == here.Domain},
	} {
		if !f.same {
			faults = append(faults, fmt.Errorf("%w: %s is %v there and %v here", ledger.ErrOther, f.name, f.there, f.here))
		}
	}
	return errors.Join(faults...)
}

func asNumber(b []byte) (uint64, bool) {
	if len(b) < wordSize || word(b[:wordSize]) != number(binary.BigEndian.Uint64(b[wordSize-8:wordSize])) {
		return 0, false
	}
	return binary.BigEndian.Uint64(b[wordSize-8 : wordSize]), true
}

// decodeDeclaration reads what declaration has encoded, and nothing else: what it makes of the bytes has to have the
// same bytes.
func decodeDeclaration(all []byte) (c ledger.Contract, err error) {
	d := answer{bytes: all}
	d = d.from(0)
	c.Members, c.Committee = d.from(0).accounts(), d.from(1).accounts()
	needed := d.number(2)
	c.Range, c.Depth, c.Life = d.number(3), d.number(4), d.number(5)
	c.Policy, c.Domain = d.from(6).text(), d.from(7).text()
	if needed <= math.MaxInt32 {
		c.Needed = int(needed)
	}
	if !bytes.Equal(tuple(behind(declaration(c))), all) {
		return c, fmt.Errorf("%w: it does not tell what was declared", ledger.ErrOther)
	}
	return c, nil
}

// answer is a tuple in the bytes of an answer. What is not there reads as nothing.
type answer struct{ bytes []byte }

func (a answer) number(i int) uint64 {
	n, _ := asNumber(a.bytes[min(len(a.bytes), i*wordSize):])
	return n
}

// from returns what stands at the offset that the i-th word has.
func (a answer) from(i int) answer {
	return answer{a.bytes[min(uint64(len(a.bytes)), a.number(i)):]}
}

func (a answer) text() string {
	rest := a.bytes[min(len(a.bytes), wordSize):]
	return string(rest[:min(uint64(len(rest)), a.number(0))])
}

func (a answer) accounts() (all []ledger.Account) {
	rest := a.bytes[min(len(a.bytes), wordSize):]
	for range a.number(0) {
		if len(rest) < wordSize {
			break
		}
		all = append(all, ledger.Account(rest[wordSize-addressSize:wordSize]))
		rest = rest[wordSize:]
	}
	return all
}
