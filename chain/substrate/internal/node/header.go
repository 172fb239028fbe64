package node

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/scale"
)

// hashSize is how many bytes a hash has.
const hashSize = 32

// Bytes is bytes as nodes write them: 0x and hexadecimal digits.
type Bytes []byte

// MarshalText implements encoding.TextMarshaler.
func (b Bytes) MarshalText() ([]byte, error) { return []byte("0x" + hex.EncodeToString(b)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	digits, has := strings.CutPrefix(string(text), "0x")
	if !has {
		return errors.New("hexadecimal digits do not begin with 0x")
	}
	raw, err := hex.DecodeString(digits)
	*b = raw
	return err
}

// Header is a block's header. Its hash was computed here, from all that is in it.
type Header struct {
	chain.Block
	Root [hashSize]byte // of its extrinsics
	// Upgrades says that the block has changed the runtime: its state has another version than its parent's (Z13).
	Upgrades bool
}

// upgraded is the digest item of a block that has changed the runtime.
const upgraded = 0x08

// wireHeader is a header as a node returns it.
type wireHeader struct {
	Parent     Bytes      `json:"parentHash"`
	Number     wireNumber `json:"number"`
	State      Bytes      `json:"stateRoot"`
	Extrinsics Bytes      `json:"extrinsicsRoot"`
	Digest     struct {
		Logs []Bytes `json:"logs"`
	} `json:"digest"`
}

// wireNumber is a block's number, in hexadecimal digits or, by some chains, as a number.
type wireNumber uint64

// UnmarshalJSON implements json.Unmarshaler.
func (n *wireNumber) UnmarshalJSON(text []byte) error {
	digits := strings.Trim(string(text), `"`)
	v, err := strconv.ParseUint(digits, 0, 64)
	*n = wireNumber(v)
	return err
}

// errHeader says that something is no header.
var errHeader = errors.New("what it returns is no header")

// header hashes what a node has returned. The error wraps errHeader, also for null.
func (w *wireHeader) header() (Header, error) {
	if w == nil || len(w.Parent) != hashSize || len(w.State) != hashSize || len(w.Extrinsics) != hashSize {
		return Header{}, errHeader
	}
	raw := scale.AppendCompact(append([]byte(nil), w.Parent...), uint64(w.Number))
	raw = append(append(raw, w.State...), w.Extrinsics...)
	raw = scale.AppendCompact(raw, uint64(len(w.Digest.Logs)))
	h := Header{Block: chain.Block{Number: uint64(w.Number), Parent: chain.Hash(w.Parent)}}
	for _, item := range w.Digest.Logs {
		raw = append(raw, item...)
		h.Upgrades = h.Upgrades || len(item) > 0 && item[0] == upgraded
	}
	copy(h.Root[:], w.Extrinsics)
	sum := blake2b.Sum256(raw)
	h.Hash = chain.Hash(sum[:])
	return h, nil
}

// readHeader reads a header that a node has returned; it is nil if the node returned null.
func readHeader(text json.RawMessage) (*Header, error) {
	var w *wireHeader
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, fmt.Errorf("%w: %w", errHeader, err)
	}
	if w == nil {
		return nil, nil //nolint:nilnil // null is no error
	}
	h, err := w.header()
	return &h, err
}
