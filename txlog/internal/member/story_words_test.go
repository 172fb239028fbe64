package member

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog"
)

func (s *story) say(a Action) string {
	switch a := a.(type) {
	case Campaign:
		return "campaigns"
	case Append:
		return "appends " + describe(a.Record)
	case Confirm:
		return fmt.Sprintf("confirm read %d", a.Read)
	case Applied:
		var all []string
		for _, r := range a.Records {
			all = append(all, describe(r))
		}
		return "has applied " + strings.Join(all, "; ")
	case Reply:
		if a.Err != nil {
			return fmt.Sprintf("to %s: %v", s.tickets[a.Ticket], a.Err)
		}
		if query, is := s.queries[a.Ticket]; is && query != "" {
			result, err := s.m.base.Query([]byte(query))
			if err != nil {
				return fmt.Sprintf("to %s: %v", s.tickets[a.Ticket], err)
			}
			a.Result = result
		}
		text := fmt.Sprintf("to %s: entry %d", s.tickets[a.Ticket], a.Index)
		if len(a.Result) > 0 {
			text += fmt.Sprintf(", %s", a.Result)
		}
		if a.Fault != "" {
			text += ", failed: " + a.Fault
		}
		if a.Hash.IsZero() {
			text += " (without its hash)"
		}
		return text
	case Perform:
		return fmt.Sprintf("performs %d.%d: %s %s", a.Key.Index, a.Key.N, a.Effect.Kind, a.Effect.Body)
	case Say:
		return fmt.Sprintf("says that %d is committed", a.Head.Index)
	case Keep:
		return fmt.Sprintf("keeps a snapshot at %d of %q", a.Photo.Of.Index, a.Photo.Bytes()[len(a.Photo.Bytes())-4:])
	case Rebuild:
		text := "rebuild"
		if a.Again {
			text += " from another node"
		}
		return text + ": " + a.Why.Error()
	case Quarantine:
		return fmt.Sprintf("gives term %d up: %v", a.Term, a.Why)
	}
	return fmt.Sprintf("%T", a)
}

func describe(r txlog.Record) string {
	text := fmt.Sprintf("%d (term %d) %s", r.Index, r.Term, r.Kind)
	switch r.Kind {
	case txlog.Executed:
		text += fmt.Sprintf(" %s: %s", r.GoalID, r.Goal)
		if r.Fault != "" {
			return text + " ⇒ failed"
		}
		return text + fmt.Sprintf(" ⇒ %s", r.Result)
	case txlog.Changed:
		for _, m := range r.Members {
			text += " " + m.Name
		}
	case txlog.Performed:
		text += fmt.Sprintf(" up to %d.%d", r.Upto.Index, r.Upto.N)
	case txlog.Opening, txlog.Scrubbed:
	}
	return text
}

func (s *story) status() []string {
	m := s.machine()
	st, inFlight := m.Status(), 0
	if m.leading {
		inFlight = len(m.ahead.line)
	}
	role := "follows " + st.Leader
	switch {
	case m.opened:
		role = "leads"
	case m.leading:
		role = "leads, not opened"
	case st.Leader == "":
		role = "knows of no leader"
	}
	text := fmt.Sprintf("%s, term %d; at %d, committed %d, stored %d; waiting %d, in flight %d, reads %d, effects %d", role, st.Term,
		st.Position.Index, st.Committed, m.lastStored(), len(m.goals.waiting), inFlight, m.reads.count, st.Effects)
	if st.Rebuilding {
		text += "; rebuilding"
	}
	if m.change != nil {
		text += "; changing members"
	}
	if refusers := slices.Sorted(maps.Keys(m.doubt.refusers)); len(refusers) > 0 {
		text += "; refused by " + strings.Join(refusers, ", ")
	}
	return []string{text}
}

// lastStored returns the last index that is on this member's disk.
func (m *Machine) lastStored() uint64 { return m.base.Position().Index + uint64(len(m.tail)) }

// query asks the state as it is at this member, of the position that it returns.
func (m *Machine) query(query []byte) ([]byte, txlog.Position, error) {
	if m.doubt.spoiled {
		return nil, txlog.Position{}, txlog.ErrSpoiled
	}
	result, err := m.base.Query(query)
	return result, m.base.Position(), err
}
