package courier

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog"
)

// answered takes the word of somebody that was asked. Nobody else's counts (V6).
func (m *Machine) answered(in LeaderSaid) {
	of, is := m.tries.end(in.Try, in.From)
	if !is {
		return
	}
	g := m.goals[of.ID] // the same goal may be waited for anew
	if g == nil || !bytes.Equal(g.Body, of.Body) {
		if in.Err == nil {
			m.late.keep(of.ID, of.Body, in.Answer)
		}
		return
	}
	var elsewhere txlog.NotLeaderError
	switch {
	case in.Err == nil:
		m.end(g, in.Answer, nil)
	case errors.Is(in.Err, txlog.ErrGoalID), errors.Is(in.Err, txlog.ErrOld), errors.Is(in.Err, txlog.ErrMalformed), errors.Is(in.Err, txlog.ErrSize):
		m.end(g, txlog.Answer{}, in.Err)
	case errors.Is(in.Err, txlog.ErrBarred):
		m.end(g, txlog.Answer{}, barred(g, in)) // whatever others say or do not: the next one that leads says the same
	case g.try != in.Try || !g.open:
		// It was asked before. The one that was asked after it will answer.
	case errors.Is(in.Err, txlog.ErrTooMany) && g.sends == 1:
		m.end(g, txlog.Answer{}, in.Err) // nobody has taken it
	case errors.As(in.Err, &elsewhere) && elsewhere.Leader != "" && elsewhere.Leader != in.From:
		m.redirect(g, elsewhere.Leader, elsewhere.Term)
	case errors.Is(in.Err, txlog.ErrNotLeader):
		m.later(g, in.From)
	default:
		m.later(g, "")
	}
}

// barred says that the leader does not take a goal, and what is not known of those that were asked beside it.
func barred(g *goal, in LeaderSaid) error {
	if g.sends == 1 {
		return in.Err
	}
	return fmt.Errorf("%w. %s says so: another member that was asked may have taken the goal", in.Err, in.From)
}

// applied takes what the own copy has: nothing says more surely what became of a goal.
func (m *Machine) applied(r txlog.Record) {
	g := m.goals[r.GoalID]
	switch {
	case g == nil:
	case bytes.Equal(g.Body, r.Goal):
		delete(m.tries.by, g.try) // its answer is not kept: the copy has it
		m.end(g, txlog.Answer{Index: r.Index, Hash: r.Hash(), Result: r.Result, Fault: r.Fault}, nil)
	default:
		m.end(g, txlog.Answer{}, fmt.Errorf("%w: %q, in entry %d", txlog.ErrGoalID, r.GoalID, r.Index))
	}
}
