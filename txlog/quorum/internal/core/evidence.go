package core

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/store"
)

// Evidence returns what a store keeps of heads that cannot be true: pairs that contradict each other, and then such as the leader of that
// time has denied, alone; each by index. It leaves out a denied head that is true by the store's own record: it was signed too early, or denied
// by a member that did not lead. The error is one of the store, or txlog.ErrMalformed if a value is no head.
func Evidence(s store.Store) (all [][]txlog.Head, err error) {
	read := func(names []string, each int) {
		for some := range slices.Chunk(names, each) {
			var heads []txlog.Head
			for _, name := range some {
				h, wrong := txlog.DecodeHead(s.Value(name))
				heads, err = append(heads, h), errors.Join(err, wrong)
			}
			all = append(all, heads)
		}
	}
	read(s.Names(forkValue), 2)
	read(s.Names(deniedValue), 1)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(heads []txlog.Head) bool {
		at, is, wrong := placeOf(s, heads[0].Index)
		err = errors.Join(err, wrong)
		return len(heads) == 1 && is && at == heads[0].Position
	}), err
}

// mostForks is how many forks a store keeps, the first ones: a key that has leaked signs more than there is room for.
const mostForks = 64

// keepFork keeps both heads of a fork, the first ones at an index. If the follower's machine knows of no head that covers what is here, the store
// may have one; without it there is nothing to show.
func keepFork(s store.Store, f *follower.Evidence) error {
	name := forkName(f.Index)
	if s.Value(name+"a") != nil || len(s.Names(forkValue)) >= 2*mostForks {
		return nil
	}
	a := f.A
	if a.Index == 0 {
		own, found, err := s.Head(f.Index, math.MaxUint64)
		if err != nil || !found {
			return err
		}
		a = own
	}
	return s.Write(store.Step{Values: map[string][]byte{name + "a": a.Encode(), name + "b": f.B.Encode()}})
}

// How many denied heads a store keeps: the first ones of a member, and of all that there have ever been.
const mostDenied, mostDeniedInAll = 16, 160

// keepDenied keeps a head that the leader has denied.
func keepDenied(s store.Store, h *txlog.Head) error {
	if len(s.Names(deniedOf(h.Member))) >= mostDenied || len(s.Names(deniedValue)) >= mostDeniedInAll {
		return nil
	}
	return s.Write(store.Step{Values: map[string][]byte{deniedName(h): h.Encode()}})
}

// deniedOf is what the names of one member's heads begin with. Its own name may be any text.
func deniedOf(member string) string { return fmt.Sprintf("%s%s/", deniedValue, short(member)) }

func deniedName(h *txlog.Head) string {
	return fmt.Sprintf("%s%020d/%s", deniedOf(h.Member), h.Index, short(string(h.Encode())))
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func forkName(index uint64) string { return fmt.Sprintf("%s%020d/", forkValue, index) }
