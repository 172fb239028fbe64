package bulletin

import (
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/member"
)

// opens looks at the store before the process uses it.
func (n *node) opens() {
	if n.disk.damaged {
		n.r.tell(n, "finds its store damaged")
		n.newStore()
	}
}

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
	r.tell(n, "loses its disk")
	n.crash(true)
	n.lostStore(r)
	n.newStore()
	n.restarts(r.w.Between(2*round, 20*round))
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
	r.stats["lost_stores"]++
	r.lostStores = append(r.lostStores, n.disk.id)
}

// spares reports whether the log can do without a node's disk.
func (r *run) spares(n *node) bool {
	all := r.members()
	left := 0
	for _, m := range all {
		if m.Name != n.name && !slices.Contains(r.lostStores, m.Store) {
			left++
		}
	}
	return !r.changing() && (!r.decides(n) || left >= txlog.Majority(all))
}

// changing reports whether a change of members was asked for, and is not over.
func (r *run) changing() bool { return r.w.Now() < r.changes }

// flip flips a bit in the memory of a node's process, if no other memory is wrong.
func (r *run) flip(n *node) {
	if n == nil || !n.up || n.process == nil || slices.ContainsFunc(r.nodes, func(o *node) bool { return o.flipped }) {
		return
	}
	key := keys[r.w.Pick(len(keys))]
	n.flipped, n.wasFlipped = true, true
	r.stats["flips"]++
	r.tell(n, "has a wrong bit in its memory, in %s", key)
	for _, m := range n.memories {
		m.flip(key)
	}
}

// quarantined has a process whose memory is wrong start again.
func (r *run) quarantined(n *node) {
	n.ends(false, "ends its process, to begin with what its disk has")
	n.restarts(round)
}

// fails ends a process that cannot use its store.
func (n *node) fails(err error) {
	n.r.tell(n, "cannot use its store: %v", err)
	n.r.stats["failed"]++
	n.lostStore(n.r)
	n.crash(false)
	n.newStore()
	n.restarts(5 * round)
}

// lost ends a store whose promises the leader knows better than it does.
func (n *node) lost(why error) {
	n.r.check(n.r.broken(syncFirst), OldStoreVotes, "%s: %v", n.name, why)
	n.fails(why)
}

// asksToJoin asks to be admitted with a store that is not the one of which the members know.
func (n *node) asksToJoin() {
	if n.process == nil || n.life == 0 {
		return
	}
	m, is := txlog.FindMember(n.r.members(), n.name)
	if !is || m.Store == n.disk.id || n.r.w.Pick(10) > 0 {
		return
	}
	for _, to := range n.r.nodes {
		if to != n {
			store := n.disk.id
			n.r.carry(n, to, func() { to.admits(n.name, store) })
		}
	}
}

// admits proposes another store of a member, if this node leads.
func (n *node) admits(name string, store uint64) {
	if n.process == nil || n.m == nil || !n.leads {
		return
	}
	members := slices.Clone(n.r.members())
	i := slices.IndexFunc(members, func(m txlog.Member) bool { return m.Name == name })
	if i < 0 || members[i].Store == store {
		return
	}
	members[i].Store = store
	n.r.changes = n.r.w.Now() + 10*round
	n.member(member.Change{Ticket: n.newTicket(func(txlog.Answer, error) {}), Members: members})
}

// leavesNow makes a follower of a member that is one no longer. Should it become one again, it has another store.
func (n *node) leavesNow() {
	if n.process == nil || !n.leaves || n.leads {
		return
	}
	n.leaves = false
	if n.r.decides(n) {
		return
	}
	n.r.tell(n, "is a member no longer")
	n.r.shuts(n)
	n.ends(false, "ends its process, to go on as a follower")
	old := n.disk.now
	n.newStore()
	n.disk.now.first, n.disk.now.records, n.disk.now.heads, n.disk.now.bridges, n.disk.now.snaps = old.first, old.records, old.heads, old.bridges, old.snaps
	n.disk.sync()
	n.restarts(round)
}

// changeMembers adds a member, takes one away, or puts one in the place of another.
func (r *run) changeMembers() {
	l := r.leader()
	if l == nil || r.changing() || len(r.lostStores) > 0 && r.w.Chance(0.5) {
		return
	}
	members := slices.Clone(r.members())
	var others []*node
	for _, n := range r.nodes {
		if _, is := txlog.FindMember(members, n.name); !is && n.up {
			others = append(others, n)
		}
	}
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
	r.asksChange(l, members)
}

// asksChange has a leader propose other members.
func (r *run) asksChange(l *node, members []txlog.Member) {
	slices.SortFunc(members, func(a, b txlog.Member) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	r.changes = r.w.Now() + 30*round
	r.stats["changes_asked"]++
	r.tell(l, "is asked to make %v the members", names(members))
	l.does(func() {
		if l.m != nil {
			l.member(member.Change{Ticket: l.newTicket(func(txlog.Answer, error) {}), Members: members})
		}
	})
}
