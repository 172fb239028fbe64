package quorum

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

var (
	// ErrStopped means that the host does not run, or ended before an answer came. What was asked for may happen all the same.
	ErrStopped = errors.New("the log does not run on this node")
	// ErrLost means that the store has lost what it had promised to the other members. It may not vote any more: the node has
	// to go on with another store.
	ErrLost = errors.New("the store has lost what it had promised to the other members")
	// ErrManyReads means that the leader had no room for a read.
	ErrManyReads = core.ErrManyReads
	// ErrLags means that this node's copy has not come in time to where the leader has said that a read must have come.
	ErrLags = core.ErrLags
	// ErrUnconfirmed means that no majority of the members has said in time up to where a read must have come. What this node has can be read
	// without it, and is of some time ago.
	ErrUnconfirmed = member.ErrUnconfirmed
)

// errAgain is told to those that wait when the machines are made anew.
var errAgain = fmt.Errorf("this node has made its copies anew: %w", txlog.ErrUnknown)
