package logworld

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// newStore puts an empty store in the place of one that is lost or damaged. It has another id, and is no member.
func (n *node) newStore() {
	id := n.r.w.Draw()>>1 | 1
	if n.r.broken(newDiskNewMember) {
		id = n.disk.id
	}
	n.disk = newDisk(id, n.r.genesis)
}

// loseDisk has a node's host lose its disk, if a majority of the members' disks is left.
func (r *run) loseDisk(n *node) {
	if n == nil || !r.spares(n) {
		return
	}
	n.losesDisk(r.w.Between(2*round, 20*round))
}

// losesDisk has a node begin with a new store after a time.
func (n *node) losesDisk(wait time.Duration) {
	n.r.tell(n, "loses its disk")
	n.crash(true)
	n.lostStore(n.r)
	n.newStore()
	n.restarts(wait)
}

// damage flips a bit on a node's disk. It shows when the process starts the next time.
func (r *run) damage(n *node) {
	if n == nil || n.disk.damaged || !r.spares(n) {
		return
	}
	r.tell(n, "has a wrong bit on its disk, and starts again")
	n.lostStore(r)
	n.crash(false)
	n.disk.damaged = true
	n.restarts(r.w.Between(2*round, 20*round))
}

func (n *node) lostStore(r *run) {
	r.Stats["lost_stores"]++
	r.lostStores = append(r.lostStores, n.disk.id)
}

// spares reports whether the log can do without a node's disk: with the members of now, and with those that were asked for. A change that one
// leader has stored and not committed another one may commit much later.
func (r *run) spares(n *node) bool {
	return !r.changing() && r.bears(r.members(), n) && r.bears(r.wantedMembers, n)
}

// bears reports whether members can decide, also without a node's disk if there is one.
func (r *run) bears(all []txlog.Member, without *node) bool {
	left, decides := 0, without == nil
	for _, m := range all {
		switch n := r.byName[m.Name]; {
		case n == without:
			decides = m.Store == n.disk.id
		case !slices.Contains(r.lostStores, m.Store) && r.fits(n):
			left++
		}
	}
	return !decides || left >= txlog.Majority(all)
}

// fits reports whether a right memory takes what a node has stored and nobody knows to be committed. A leader whose memory was
// wrong may have stored what nobody else does: until another one replaces that, its disk is as good as lost.
func (r *run) fits(n *node) bool {
	switch {
	case !n.wasFlipped || r.spoiled:
		return true
	case n.flipped: // it may store such a thing yet
		return false
	}
	promises, err := majority.NewPromises(n.disk).Load()
	if err != nil {
		return false
	}
	tail, err := promises.Tail()
	if err != nil {
		return false
	}
	c, err := txlog.Restore(r.pure.Snapshot(), r.machine.New)
	for _, record := range tail {
		if err == nil && record.Index > c.Position().Index {
			err = c.Apply(record)
		}
	}
	return err == nil
}

// changing reports whether a change of members was asked for just now, or two sets of members decide.
func (r *run) changing() bool { return r.w.Now() < r.changes || r.joint }

// marks notes up to where the authority's log is known to be committed, and who decides there.
func (r *run) marks(m *majority.Mark) {
	if m != nil && m.Index > r.marked {
		r.marked, r.joint = m.Index, len(m.Leaving) > 0
	}
}

// flip flips a bit in the memory of a node's process, if no other memory is wrong and the log can do without the node.
func (r *run) flip(n *node) {
	if n == nil || !n.up || n.process == nil || slices.ContainsFunc(r.nodes, func(o *node) bool { return o.flipped }) || !r.spares(n) {
		return
	}
	n.flips(keys[r.w.Pick(len(keys))])
}

// flips has all copies of a node have a wrong value.
func (n *node) flips(key string) {
	n.flipped, n.wasFlipped = true, true
	n.r.Stats["flips"]++
	n.r.tell(n, "has a wrong bit in its memory, in %s", key)
	for _, m := range n.memories {
		m.flip(key)
	}
}

// fails ends a process that cannot use its store.
func (n *node) fails(err error) {
	n.r.tell(n, "cannot use its store: %v", err)
	n.r.Stats["failed"]++
	n.lostStore(n.r)
	n.crash(false)
	n.newStore()
	n.restarts(5 * round)
}

// lost ends a store whose promises the leader knows better than it does, or whose content does not fit.
func (n *node) lost(why error) {
	if errors.Is(why, majority.ErrLost) {
		if n.r.broken(newDiskNewMember) {
			n.anew(why)
			return
		}
		n.r.Check(n.r.broken(syncFirst), OldStoreVotes, "%s: %v", n.name, why)
	}
	n.fails(why)
}

// changeMembers adds a member, takes one away, or puts one in the place of another.
func (r *run) changeMembers() {
	l := r.leader()
	if l == nil || r.changing() || len(r.lostStores) > 0 && r.w.Chance(0.5) {
		return
	}
	members := slices.Clone(r.members())
	others := slices.DeleteFunc(r.outsiders(), func(n *node) bool { return !n.up })
	add := len(others) > 0 && len(members) < 7
	remove := len(members) > 3 || add
	switch p := r.w.Pick(3); {
	case p == 0 && add:
		remove = false
	case p == 1 && len(members) > 3:
		add = false
	}
	if remove {
		i := r.w.Pick(len(members))
		members = slices.Delete(members, i, i+1)
	}
	if add {
		n := others[r.w.Pick(len(others))]
		members = append(members, txlog.Member{Name: n.name, Key: fingerprint(n.key), Store: n.disk.id})
	}
	if r.bears(members, nil) { // else the log may refuse it, if it knows by now that a store is lost
		r.asksChange(l, members)
	}
}

// asksChange has a leader propose other members.
func (r *run) asksChange(l *node, members []txlog.Member) {
	slices.SortFunc(members, func(a, b txlog.Member) int { return strings.Compare(a.Name, b.Name) })
	r.changes, r.wantedMembers = r.w.Now()+30*round, members
	r.Stats["changes_asked"]++
	r.tell(l, "is asked to make %v the members", memberNames(members))
	l.ticket++
	l.put(core.Change{Ticket: l.ticket, Members: members, Since: l.process.core.Status().MembersAt})
}

func memberNames(members []txlog.Member) (all []string) {
	for _, m := range members {
		all = append(all, m.Name)
	}
	return all
}
