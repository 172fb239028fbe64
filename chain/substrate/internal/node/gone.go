package node

import (
	"errors"
	"fmt"
	"strings"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
)

// ErrStateGone means that the endpoint no longer keeps the state after a block, as most do for 256 blocks alone, or does not know the
// block. What was in it can be learnt from others (Z10).
var ErrStateGone = errors.New("the state after the block is gone")

// isGone reports whether a node says that it has not what was asked for as of a block. Texts are all that there is: the codes are
// those of any fault inside of the node.
func isGone(said *rpc.Error) bool {
	text := strings.ToLower(said.Message + " " + said.Detail)
	for _, word := range []string{"state already discarded", "unknownblock", "unknown block", "header was not found", "header not found", "state not found", "missing trie node"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func (v *View) stateGone(at chain.Hash, err error) error {
	if said, spoken := rpc.Answered(err); spoken && isGone(said) {
		return fmt.Errorf("%w: block %v: %w", ErrStateGone, at, err)
	}
	return err
}
