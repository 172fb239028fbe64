package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// change asks for other members.
func (c *Core) change(in Change) {
	_, err := majority.Check(in.Members)
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", txlog.ErrMalformed, err)
	case c.m == nil:
		err = txlog.NotLeaderError{Leader: c.leader, Term: c.term}
	case c.leads && !slices.Equal(in.Members, c.members): // else it is done
		err = c.bears(in.Members)
	}
	if err != nil {
		c.do(TicketEnded{Ticket: in.Ticket, Err: err})
		return
	}
	c.member(member.Change{Ticket: c.newTicket(asker{user: in.Ticket}), Members: in.Members, Since: in.Since})
}

// silentFor is after how many rounds without a word a member does not count for a change: a leader hears each one in every round.
const silentFor = 2 * looks

// bears refuses members that could not decide, or of whom one has a store that waits to be admitted: it has no vote yet, so the members would bear the
// loss of one disk less than it seems. It is admitted in a moment, and the change can be asked for again then; if the store that the member has is
// heard, two processes have one name, and none is admitted. New members are not looked at: each has just said which store it has.
func (c *Core) bears(members []txlog.Member) error {
	var silent []string
	for _, m := range members {
		if !slices.ContainsFunc(c.members, func(now txlog.Member) bool { return now.Name == m.Name && now.Store == m.Store }) {
			continue
		}
		heard := c.heardOf(m.Store)
		alive := heard >= 0 && uint64(heard) < c.rounds-c.renewed[m.Name].at // since another one has asked: see admit
		if c.isRenewed(m) && !alive {
			return fault(txlog.ErrChanging, "%s has begun with a new store, which has no vote before the leader has admitted it, in a few seconds", m.Name)
		}
		if heard < 0 || heard > silentFor {
			silent = append(silent, m.Name)
		}
	}
	if need := txlog.Majority(members); len(members)-len(silent) < need {
		return fault(txlog.ErrAway, "of the %d that are to decide %s cannot be heard, and %d have to answer, or nothing is decided any more", len(members), strings.Join(silent, ", "), need)
	}
	return nil
}
