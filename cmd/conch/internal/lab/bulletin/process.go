package bulletin

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/courier"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/member"
	"github.com/conchhq/conch/txlog/quorum"
)

// process is what a node has in memory: the machines, and what their loop needs.
type process struct {
	q *quorum.Machine // nil: it is no member, and nobody has asked it to become one
	m *member.Machine // with q
	c *courier.Machine
	f *follower.Machine
	rumours

	copy *txlog.Copy // the one that users read

	memories []*memory      // the states of its copies
	requests []quorum.Input // for the authority, and go together
	tickets  map[uint64]func(txlog.Answer, error)
	ticket   uint64
	act      quorum.Door
	open     bool            // what the member machine was told of the door
	behind   *txlog.Position // the authority waits for records up to there
	stood    uint64          // where the member machine was in the last round
	stalled  int             // for how many rounds the log has gone on without it
	strayed  bool            // so the copy follows the others
	in       bool            // its store is a member's
	leaves   bool            // the members are others now
	term     uint64          // the newest one that is known
	leads    bool
	follows  string // who leads
}

// begin makes the machines from what the disk has.
func (n *node) begin() {
	n.opens()
	n.process = &process{tickets: map[uint64]func(txlog.Answer, error){}}
	base, _, err := n.disk.load(n.state)
	if err != nil {
		n.fails(err)
		return
	}
	stored := &n.disk.now
	m, is := txlog.FindMember(base.Members(), n.name)
	n.in = is && m.Store == n.disk.id
	decides := n.in || len(stored.Entries) > 0 || stored.Mark.At.Index > 0
	n.copy = base
	n.f = follower.New(follower.Config{
		Self: n.name, Base: base, New: n.state, Member: decides, First: stored.first, Head: stored.newestHead(), Bridges: stored.bridges,
		Offers: stored.offers(), Seed: n.r.w.Draw(), SnapshotAfter: snapshotAfter, SnapshotEvery: snapshotEvery, Break: ruleOf(n.r, follower.Rules()),
	})
	n.c = courier.New(courier.Config{Self: n.name, Known: n.known, Break: ruleOf(n.r, courier.Rules())})
	if decides {
		n.r.commits(n, stored.records)
		n.joins()
	}
	n.courier(courier.Members{Names: names(base.Members())})
	n.follower(follower.Peers{Names: n.peers()})
}

// joins starts what a member has more than a follower.
func (n *node) joins() {
	base, tail, err := n.disk.load(n.state)
	if err != nil {
		n.fails(err)
		return
	}
	if !n.f.Snapshot().Following {
		n.copy = base
	}
	n.m = member.New(member.Config{
		Self: n.name, Base: base, Tail: tail, New: n.state, SnapshotEvery: snapshotEvery, Break: ruleOf(n.r, member.Rules()),
	})
	n.q, err = quorum.New(quorum.Config{
		Self: n.name, Store: n.disk.id, Log: n.r.genesis.ID(), Stored: n.disk.now.Stored, Have: n.disk.now.last(), Lease: n.r.lease(), Seed: n.r.w.Draw(),
		Look: n.m.Look, Keep: keepEntries, Break: ruleOf(n.r, quorum.Rules()),
	})
	if err != nil {
		n.fails(err)
	}
}

const (
	snapshotEvery = 150 // entries
	snapshotAfter = 100 // entries behind
	keepEntries   = 60
)

// tick lets a round pass in all machines.
func (n *node) tick() {
	if n.process == nil {
		return
	}
	n.follower(follower.Tick{})
	n.courier(courier.Tick{})
	n.member(member.Tick{At: int64(n.now() / 1e6)})
	n.request(quorum.Tick{})
	n.doorMoves()
	n.strays()
	n.asksToJoin()
	n.leavesNow()
}

func names(members []txlog.Member) (all []string) {
	for _, m := range members {
		all = append(all, m.Name)
	}
	return all
}

func (n *node) peers() (all []string) {
	for _, to := range n.neighbours() {
		all = append(all, to.name)
	}
	return all
}
