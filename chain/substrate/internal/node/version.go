package node

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/conchhq/conch/chain"
)

// Version is that of the runtime in a state. What the block after that state has was made by it, and its extrinsics were signed for it
// (Z13). The zero Version is none.
type Version struct {
	Name        string
	Spec        uint32
	Transaction uint32
}

// String returns such as "statemine/900/3".
func (v Version) String() string { return fmt.Sprintf("%s/%d/%d", v.Name, v.Spec, v.Transaction) }

// Version returns the version in the state after a block. It is asked for once for each that there is: a block has that of its
// parent, unless its header says that it has changed. The error wraps chain.ErrNotFound if the endpoint does not know the block.
func (v *View) Version(ctx context.Context, of chain.Hash) (Version, error) {
	h, err := v.Header(ctx, of)
	if errors.Is(err, chain.ErrThread) {
		return Version{}, fmt.Errorf("%w: %w", chain.ErrNotFound, err)
	}
	if err != nil {
		return Version{}, err
	}
	if known, is := v.states.inherit(h); is {
		return known, nil
	}
	var wire struct {
		Name        string  `json:"specName"`
		Spec        *uint64 `json:"specVersion"`
		Transaction uint64  `json:"transactionVersion"`
	}
	if err := v.client.Call(ctx, &wire, "state_getRuntimeVersion", Bytes(of)); err != nil {
		return Version{}, err
	}
	if wire.Spec == nil || *wire.Spec > math.MaxUint32 || wire.Transaction > math.MaxUint32 {
		return Version{}, fmt.Errorf("%w: %s returns no version of the runtime for block %v", chain.ErrAnswer, v, of)
	}
	found := Version{wire.Name, uint32(*wire.Spec), uint32(wire.Transaction)}
	v.states.note(h, found)
	return found, nil
}

// inherit returns the version of a block that is known by itself or by an ancestor.
func (s *states) inherit(h Header) (Version, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, known := h, true; known; at, known = s.headers[at.Parent] {
		if found, is := s.version[at.Hash]; is {
			s.version[h.Hash] = found
			return found, true
		}
		if at.Upgrades {
			return Version{}, false
		}
	}
	return Version{}, false
}

func (s *states) note(h Header, v Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, kept := s.headers[h.Hash]; kept {
		s.version[h.Hash] = v
	}
}
