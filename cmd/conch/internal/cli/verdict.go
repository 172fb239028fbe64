//go:build unix

package cli

import "github.com/conchhq/conch/cmd/conch/internal/keeper"

// verdict is what an end of the command means.
type verdict struct {
	again   bool  // the command is started again in this term
	err     error // what the role returns if it is not: the term ends with it, and the campaign goes on
	over    bool  // the campaign ends as well
	outcome error // what conch then returns: an exit code
	why     error // and what the history says
}

// judge decides, from what the keeper reported, whether conch was asked to end and whether
// a command that exits is to be started again.
func judge(out *keeper.Outcome, stopping, restart bool) verdict {
	cause := keeper.Cause("")
	if out.Gone != nil {
		cause = out.Gone.Cause
	}
	switch {
	case out.Unstarted != nil:
		return verdict{err: out.Unstarted, over: true, outcome: usage{out.Unstarted}, why: out.Err()}
	case stopping: // or killed together with its keeper, or never begun
		return verdict{over: true, outcome: exitError(out.Code())}
	case out.Abandoned, out.Gone == nil, cause == keeper.Late:
		return verdict{err: out.Err()}
	case cause == keeper.Ended:
		return verdict{} // told to by the end of the leadership
	case cause == keeper.Itself && restart:
		return verdict{again: true}
	}
	return verdict{over: true, outcome: exitError(out.Code()), why: out.End()}
}
