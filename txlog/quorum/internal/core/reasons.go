package core

import (
	"errors"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// other is the reason of what no error below explains.
const other = "other"

// reasons are the errors by which refusals are counted: the first one that fits.
var reasons = []struct {
	err  error
	name string
}{
	{follower.ErrBridge, "bridge"}, {follower.ErrUnasked, "unasked"}, {follower.ErrAnswer, "answer"}, {follower.ErrUncovered, "uncovered"},
	{follower.ErrFlood, "flood"}, {follower.ErrRange, "range"}, {follower.ErrPiece, "piece"}, {follower.ErrOffer, "offer"},
	{majority.ErrStranger, "stranger"}, {majority.ErrOtherLog, "other-log"}, {majority.ErrOtherStore, "other-store"}, {majority.ErrMessage, "message"}, {majority.ErrLost, "lost"}, {majority.ErrForked, "fork"},
	{errTwin, "twin"}, {errKey, "key"},
	{txlog.ErrStranger, "stranger"}, {txlog.ErrBarred, "stranger"}, {txlog.ErrSignature, "signature"}, {txlog.ErrChain, "chain"}, {txlog.ErrState, "state"},
	{txlog.ErrSize, "size"}, {txlog.ErrVersion, "version"}, {txlog.ErrMalformed, "malformed"},
	{wire.ErrSize, "size"}, {wire.ErrVersion, "version"}, {wire.ErrMalformed, "malformed"},
}

// Reason names in a word why something of another node was left out.
func Reason(why error) string {
	for _, r := range reasons {
		if errors.Is(why, r.err) {
			return r.name
		}
	}
	return other
}

// Reasons returns what Reason may return.
func Reasons() []string {
	all := []string{other}
	for _, r := range reasons {
		if !slices.Contains(all, r.name) {
			all = append(all, r.name)
		}
	}
	return all
}
