package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/host"
	"github.com/conchhq/conch/txlog/wire"
)

// errNoLeader means that nobody has answered who leads: what was asked for may happen all the same.
var errNoLeader = errors.New("no member answers that leads")

// appointPatience is for how long a leader tries what another node has asked of it: that one waits for longer.
const appointPatience = drawPatience + beginPatience

// change makes other members, by name: the leader does, on this node or another one. The error is one of a set that a log cannot have, txlog.ErrAway
// or txlog.ErrChanging if nothing was done, else one after which nobody knows: asked again, nothing is done twice.
func (r *part) change(ctx context.Context, names []string) (index uint64, err error) {
	if err := set(names); err != nil {
		return 0, err
	}
	err = r.insist(ctx, func(h *host.Host) (err error) {
		if h.Status().Leads {
			index, err = r.appoint(ctx, names)
		} else {
			index, err = r.askLeader(ctx, names)
		}
		return err
	})
	return index, err
}

// appoint makes other members, if this node leads. It asks those that are new for their stores.
func (r *part) appoint(ctx context.Context, names []string) (uint64, error) {
	h := r.running()
	g, known := r.began()
	if h == nil || !known {
		return 0, errNotHere
	}
	if s := h.Status(); !s.Leads {
		return 0, txlog.NotLeaderError{Leader: s.Leader, Term: s.Term}
	}
	if err := r.able(names); err != nil {
		return 0, err
	}
	members, err := r.gather(ctx, names, g.ID(), h.Status().Members)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", txlog.ErrAway, err)
	}
	return h.Change(ctx, current(members, h.Status().Members))
}

// current returns members, of whom those that are members now keep the stores that they have: one may have been admitted with another
// while the new ones were asked.
func current(members, now []txlog.Member) (all []txlog.Member) {
	for _, m := range members {
		if is, found := txlog.FindMember(now, m.Name); found {
			m = is
		}
		all = append(all, m)
	}
	return all
}

// askLeader has the leader make other members, whom this node's copy names, or a member. It may take a while, and is one request
// until it is answered by a leader.
func (r *part) askLeader(ctx context.Context, names []string) (uint64, error) {
	g, known := r.began()
	if !known {
		return 0, errNotHere
	}
	hint, turn := "", 0
	body, err := r.ask(ctx, question{
		log:  g.ID(),
		with: func(serial uint64) wire.Body { return wire.Appoint{Serial: serial, Names: names} },
		to: func() string {
			turn++
			return r.leader(hint, turn)
		},
		goesOn: func(body wire.Body) bool {
			a, _ := body.(wire.Appointed)
			not, is := errors.AsType[txlog.NotLeaderError](a.Err)
			hint = not.Leader
			return is && not.Leader != r.self
		},
	})
	if err != nil {
		return 0, errNoLeader
	}
	if a, is := body.(wire.Appointed); is {
		return a.Index, a.Err
	}
	return 0, txlog.ErrUnknown
}

// leader returns whom to ask as the leader: the hint, or whom this node's copy names; each third time another member, since that one may
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

// appointment is what a node has asked for last, as the leader: each request is sent until it is answered, and may come again after that.
type appointment struct {
	serial uint64
	answer *wire.Appointed // nil: it is under way
}

// asked appoints members for another node, one request of a node at a time.
func (r *part) asked(from string, log txlog.ID, a wire.Appoint) {
	if g, known := r.began(); !known || g.ID() != log {
		return
	}
	r.mu.Lock()
	last := r.appoints[from]
	begin := last.serial != a.Serial && (last.serial == 0 || last.answer != nil)
	if begin {
		r.appoints[from] = appointment{serial: a.Serial}
	}
	r.mu.Unlock()
	if last.serial == a.Serial && last.answer != nil {
		r.send(from, log, *last.answer)
	}
	if !begin {
		return
	}
	r.spawn(func() {
		ctx, cancel := context.WithTimeout(r.over, appointPatience)
		defer cancel()
		index, err := r.appoint(ctx, a.Names)
		if err == nil {
			r.log.Info("another node has had the members changed", slog.String("peer", from), slog.String("members", strings.Join(a.Names, ", ")), slog.Uint64("index", index))
		}
		answer := wire.Appointed{Serial: a.Serial, Index: index, Err: err}
		r.mu.Lock()
		r.appoints[from] = appointment{a.Serial, &answer}
		if errors.Is(err, txlog.ErrNotLeader) { // it may lead when it is asked again
			delete(r.appoints, from)
		}
		r.mu.Unlock()
		r.send(from, log, answer)
	})
}
