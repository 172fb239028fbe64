package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/founding"
	"github.com/conchhq/conch/txlog/quorum"
)

// errNoLeader means that nobody has answered who leads: what was asked for may happen all the same.
var errNoLeader = errors.New("no member answers that leads")

// appointPatience is for how long a leader tries what another node has asked of it: that one waits for longer.
const appointPatience = drawPatience + beginPatience

// change makes other members, by name: the leader does, on this node or another one. Since is an entry as of which the asker knows the
// members. The error is one of a set that a log cannot have, txlog.ErrChanged, txlog.ErrAway or txlog.ErrChanging if nothing was done,
// else one after which nobody knows: asked again with the same since, nothing is done twice, and nothing newer is undone.
func (r *part) change(ctx context.Context, names []string, since uint64) (index uint64, err error) {
	err = r.insist(ctx, func(h *quorum.Host) (err error) {
		if h.Status().Leads {
			index, err = r.appoint(ctx, names, since)
		} else {
			index, err = r.askLeader(ctx, names, since)
		}
		return err
	})
	return index, err
}

// appoint makes other members, if this node leads. It asks those that are new for their stores. Those that stay have the stores of now: if
// one is admitted with another meanwhile, the members have changed.
func (r *part) appoint(ctx context.Context, names []string, since uint64) (uint64, error) {
	h := r.running()
	g, known := r.began()
	if h == nil || !known {
		return 0, errNotHere
	}
	switch s := h.Status(); {
	case !s.Leads:
		return 0, txlog.NotLeaderError{Leader: s.Leader, Term: s.Term}
	case s.MembersAt < since: // the asker knows of more than this leader, which may be deposed and not know it
		return 0, fmt.Errorf("%w: the members are asked for as of entry %d, and the leader is at %d", txlog.ErrUnknown, since, s.MembersAt)
	default:
		if err := r.able(names, "the leader"); err != nil {
			return 0, err
		}
		members, err := r.gather(ctx, names, g.ID(), s.Members)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", txlog.ErrAway, err)
		}
		return h.Change(ctx, members, since)
	}
}

// askLeader has the leader make other members: the one that this node's copy names, or another member. It may take a while, and is one request
// until it is answered by a leader.
func (r *part) askLeader(ctx context.Context, names []string, since uint64) (uint64, error) {
	g, known := r.began()
	if !known {
		return 0, errNotHere
	}
	hint, turn := "", 0
	answer, err := r.ask(ctx, question{
		log:  g.ID(),
		with: func(serial uint64) any { return founding.Appoint{Serial: serial, Names: names, Since: since} },
		to: func() string {
			turn++
			return r.leader(hint, turn)
		},
		goesOn: func(body any) bool {
			a, _ := body.(founding.Appointed)
			not, is := errors.AsType[txlog.NotLeaderError](a.Err)
			hint = not.Leader
			return is && not.Leader != r.self
		},
	})
	if err != nil {
		return 0, errNoLeader
	}
	if a, is := answer.body.(founding.Appointed); is {
		return a.Index, a.Err
	}
	return 0, txlog.ErrUnknown
}

// leader returns the node to ask as the leader: the hint, or the one that this node's copy names; each third time another member, since that one may
// be gone.
func (r *part) leader(hint string, turn int) string {
	h := r.running()
	if h == nil {
		return ""
	}
	s := h.Status()
	if hint == "" {
		hint = s.Leader
	}
	if len(s.Members) > 0 && (hint == "" || hint == r.self || turn%3 == 0) {
		return s.Members[turn/3%len(s.Members)].Name
	}
	return hint
}

// asked appoints members for another node, one request of a node at a time: it sends the others again. A copy of a request that comes late,
// at this leader or the next one, is told what is so by then: it is done, or the members have changed since it was made.
func (r *part) asked(from string, log txlog.ID, a founding.Appoint) {
	if g, known := r.began(); !known || g.ID() != log {
		return
	}
	r.alone("appoint", from, log, func(ctx context.Context) any {
		ctx, cancel := context.WithTimeout(ctx, appointPatience)
		defer cancel()
		index, err := r.appoint(ctx, a.Names, a.Since)
		if err == nil {
			r.log.Info("another node has had the members changed", slog.String("peer", from), slog.String("members", strings.Join(a.Names, ", ")), slog.Uint64("index", index))
		}
		return founding.Appointed{Serial: a.Serial, Index: index, Err: err}
	})
}
