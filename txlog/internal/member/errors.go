package member

import "errors"

// Why something that was asked for is not done. Beside these there are the errors of package txlog.
var (
	// ErrUnconfirmed means that no majority of members has said in time up to where a read must have come. What this
	// member has can be read without it, and is of some time ago.
	ErrUnconfirmed = errors.New("no majority of the members confirms the read: ask again, or take what this node has (as_of)")
)

// Why a leader or a copy is in doubt.
var (
	// ErrRefused means that so many members do not store what this leader sends that it cannot commit.
	ErrRefused = errors.New("the others do not store what this leader sends: by their memory the state comes out otherwise")
	// ErrGap means that the authority tells of records that do not follow those before.
	ErrGap = errors.New("the authority tells of records that do not follow what it told before")
)
