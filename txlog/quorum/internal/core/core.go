package core

import (
	"crypto"
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/splitmix"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/courier"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// Core is one node's part in one log: the machines of a member and of a follower, and what joins them. It is pure, and not
// safe for concurrent use.
type Core struct {
	set  Settings
	now  time.Duration
	over bool // Restart or Lost was said

	store uint64
	key   txlog.Hash // with which this node signs
	last  uint64     // the newest record that is stored, or is about to be

	q *majority.Machine // nil: this node decides nothing
	m *member.Machine   // with q
	c *courier.Machine
	f *follower.Machine

	copy    *txlog.Copy // what users read: the machine that applies owns it
	members []txlog.Member
	before  []txlog.Member // who they were before the last change, which may go on
	changed bool           // the last change of members may go on: no record that is known here says that it has ended
	term    uint64
	leads   bool
	leader  string // as far as is known; a hint
	hint    string // whom gossip suggests as the leader; empty: nobody
	door    majority.Door
	open    bool // what the member machine was told of the door
	behind  *txlog.Position
	asks    map[string]map[uint64]uint64 // by member, stores that ask this leader to be admitted, and in which round they did so first
	renewed map[string]renewal           // by member, the other store of its node that has asked to be admitted last
	twin    uint64                       // a store that has taken this one's place while this node ran; 0: none
	ran     bool                         // this store was a member's while this node ran: a leader has spoken to it, or it has led
	unheard bool                         // this node left or was forked off, and perhaps nobody has heard it: a node that the others still believe must say so
	forked  uint64                       // the round in which it was found last that another member has something else committed
	outside int                          // looks for which a store that runs its authority has been no member
	quiet   int                          // looks for which a member has heard no leader
	seeking bool
	blank   bool   // the state with which the log begins is not here
	told    uint64 // up to where what is applied was passed on
	floor   uint64 // the store has records after it, at most

	requests majority.Batch   // for the authority
	said     *majority.Output // by it, and not to be told before it is written
	after    []func()         // what else waits for the writes
	loads    []func(Has)      // what waits for the store to be read

	tickets map[uint64]asker
	crowd   map[string]int // of them, by node
	ticket  uint64
	salt    uint64               // of the numbers that other nodes repeat: what was meant for an earlier core has another one
	try     uint64               // of the last Perform
	remote  map[uint64]*question // by their numbers
	rounds  uint64
	peers   []string // that are connected

	out Output
}

// asker waits for an answer of the member machine: a user of this node, its courier, or another node.
type asker struct {
	user   uint64    // a ticket
	read   *question // of a user's ticket, if it is one
	node   string
	try    uint64 // of a goal
	early  bool   // of a goal that came while this node did not lead
	serial uint64 // of a Confirm
}

// New returns a core that goes on from what a store has. The error is store.ErrDamaged, or a fault of the settings.
func New(s Settings, h Has) (*Core, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	c := &Core{
		set: s, store: h.Store, key: fingerprint(s.Key), last: h.Copy.Position().Index, told: h.Copy.Position().Index, copy: h.Copy, members: h.Copy.Members(), before: h.Before,
		salt: splitmix.Mix(s.Seed, 0), try: splitmix.Mix(s.Seed, 0), tickets: map[uint64]asker{}, crowd: map[string]int{}, remote: map[uint64]*question{},
		renewed: map[string]renewal{},
	}
	c.blank, c.unheard, c.changed = h.Blank, h.left(s.Self), h.Copy.Changing()
	decides := (c.mine() || leaves(h)) && !c.blank // else a leader that counts on this store will say so
	c.f = follower.New(s.follower(h, decides))
	c.c = courier.New(s.courier(c.known))
	if decides {
		if err := c.decides(h); err != nil {
			return nil, err
		}
	}
	c.courier(courier.Members{Names: names(c.members)})
	if last, is := c.copy.Last(); is {
		c.namesLeader(last)
	}
	return c, nil
}

// namesLeader has a follower name the leader of its newest entry; not itself, which has led with another store, or as a member.
func (c *Core) namesLeader(last txlog.Record) {
	if c.q != nil || last.Term < c.term {
		return
	}
	leader := last.Leader
	if leader == c.set.Self {
		leader = ""
	}
	c.leadership(last.Term, leader, false)
}

// mine reports whether this store is a member's, as far as the copy says.
func (c *Core) mine() bool {
	m, is := txlog.FindMember(c.members, c.set.Self)
	return is && m.Store == c.store
}

// leaves reports whether a change by which this store leaves may go on: as far as is known here nothing that ends it has come after it, maybe
// since it needs this store. A majority of those who leave has to end it with the others. If it has come another way than from a leader, the
// authority may be the only one left that has stored it, or that can vote for one that has.
func leaves(h Has) bool {
	m := h.Stored.Mark
	if h.Copy.Position().Index == m.At.Index {
		return hasStore(m.Leaving, h.Store)
	}
	return h.Copy.Changing() && hasStore(m.Members, h.Store) && hasStore(h.Before, h.Store)
}

func hasStore(set []txlog.Member, store uint64) bool {
	return slices.ContainsFunc(set, func(of txlog.Member) bool { return of.Store == store })
}

// decides starts what a member has more than a follower. The copy is the member's from now on.
func (c *Core) decides(h Has) (err error) {
	m := member.New(c.set.member(h))
	q, err := majority.New(c.set.quorum(h, m.Look))
	if err != nil {
		return fmt.Errorf("txlog/quorum: %w", err)
	}
	c.q, c.m, c.copy, c.outside = q, m, h.Copy, 0
	c.term = q.Snapshot().Term
	if at := h.Copy.Position().Index; at > h.Stored.Mark.At.Index { // it has followed, and the members may be others since
		c.request(majority.Known{Index: at, Members: h.Copy.Members(), Before: c.before})
	}
	c.tell(Member{Is: c.mine()})
	return nil
}

// Step takes an input, and returns what is to be done. Now is an instant of a clock that never goes back and counts
// suspended time.
func (c *Core) Step(now time.Duration, in Input) Output {
	c.now = max(c.now, now)
	if !c.over {
		c.take(in)
		c.settle()
	}
	out := c.out
	out.Load = len(c.loads) > 0 && !c.over
	c.out = Output{}
	return out
}

func (c *Core) take(in Input) {
	switch in := in.(type) {
	case Batch:
		for _, each := range in {
			c.take(each)
		}
	case Tick:
		c.tick(in.At)
	case Soon:
		c.follower(follower.Tick{})
	case Received:
		c.receive(in)
	case Faulty:
		c.follower(follower.Faulty(in))
	case Headed:
		c.follower(follower.Heard(in))
	case Suggested:
		c.suggested(in.Name)
	case Peers:
		c.meets(in)
	case Unsent:
		c.courier(courier.Failed(in))
	case UserGoal:
		c.courier(courier.Carry(in))
	case Read:
		c.read(in)
	case Change:
		c.change(in)
	case Gone:
		c.gone(in.Ticket)
	case Written:
		c.written()
	case Loaded:
		c.loaded(in.Has)
	case Done:
		c.member(member.Done(in))
	case Ended:
		c.ended(in)
	case Kept:
		c.follower(follower.Kept{Offer: in.Offer})
		c.follower(follower.Dropped{First: in.First})
	}
}

// settle asks the authority for what waits for it, until there is something to write.
func (c *Core) settle() {
	for c.q != nil && len(c.requests) > 0 && c.said == nil && len(c.loads) == 0 && !c.over {
		batch := c.requests
		c.requests = nil
		out := c.q.Step(c.now, batch)
		c.said = &out
		if !out.Persist.Empty() {
			if n := len(out.Persist.Records); n > 0 {
				c.last = max(c.last, out.Persist.Records[n-1].Index)
			}
			c.out.Writes = append(c.out.Writes, Write{Persist: &out.Persist})
		}
		if len(c.out.Writes) > 0 {
			return
		}
		c.tellSaid()
	}
}

// written goes on after the writes.
func (c *Core) written() {
	after := c.after
	c.after = nil
	for _, f := range after {
		f()
	}
	c.tellSaid()
}

// write has a step stored, and goes on when it is.
func (c *Core) write(w Write, then func()) {
	c.out.Writes = append(c.out.Writes, w)
	c.after = append(c.after, then)
}

func (c *Core) do(a Act) { c.out.Acts = append(c.out.Acts, a) }

func (c *Core) tell(e Event) { c.do(Tell{Event: e}) }

func (c *Core) send(to string, m wire.Body) { c.do(Send{To: to, Body: m}) }

// load asks for what the store has.
func (c *Core) load(then func(Has)) { c.loads = append(c.loads, then) }

func (c *Core) loaded(h Has) {
	if len(c.loads) == 0 {
		return
	}
	then := c.loads[0]
	c.loads = c.loads[1:]
	then(h)
}

// restart gives this core up.
func (c *Core) restart(why error) {
	c.over = true
	c.shut()
	c.do(Restart{Why: why})
}

// giveUp gives a term up in which this node's memory is wrong: the store is right, but for what only this member counts on.
func (c *Core) giveUp(why error) {
	if out := c.q.Step(c.now, majority.GiveUp{}); !out.Persist.Empty() {
		c.out.Writes = append(c.out.Writes, Write{Persist: &out.Persist})
	}
	c.restart(why)
}

// lose says that the store is of no use any more.
func (c *Core) lose(why error) {
	c.over = true
	c.shut()
	c.do(Lost{Why: why})
}

// shut ends what this core has begun outside. Other nodes that wait for its answer are told to ask again: whatever it has done for them,
// nobody else answers. The users of this node are the loop's.
func (c *Core) shut() {
	for _, ticket := range slices.Sorted(maps.Keys(c.tickets)) {
		if who := c.tickets[ticket]; who.node != "" && who.node != c.set.Self {
			c.reply(who, txlog.Answer{}, txlog.NotLeaderError{Term: c.term})
		}
	}
	if c.door != (majority.Door{}) {
		c.door, c.open = majority.Door{}, false
		c.do(Doors{})
	}
}

// tick lets a round pass in all machines.
func (c *Core) tick(at int64) {
	c.rounds++
	c.follower(follower.Tick{})
	c.courier(courier.Tick{})
	if c.q != nil {
		c.member(member.Tick{At: at})
		c.request(majority.Tick{})
		c.doorMoves()
	}
	c.wait()
	c.belongs()
}

// meets takes which nodes are connected. What was sent over a connection that has ended, or before there was one, may be lost.
func (c *Core) meets(in Peers) {
	for _, name := range slices.Concat(c.peers, in.Names) {
		if slices.Contains(c.peers, name) != slices.Contains(in.Names, name) {
			c.courier(courier.Failed{To: name})
		}
	}
	first := len(c.peers) == 0
	c.peers = in.Names
	if c.follower(follower.Peers(in)); first {
		c.follower(follower.News{}) // the one that is asked for news may know no more than this node
	}
}

// View returns the state of the copy that is here, for questions, and its position.
func (c *Core) View() (txlog.View, txlog.Position, error) {
	if c.blank {
		return nil, txlog.Position{}, errBlank
	}
	view, err := c.copy.View()
	return view, c.copy.Position(), err
}

// Query answers from the copy that is here, and says of which position the answer is.
func (c *Core) Query(query []byte) ([]byte, txlog.Position, error) {
	view, at, err := c.View()
	if err != nil {
		return nil, at, err
	}
	answer, err := txlog.Ask(view, query)
	return answer, at, err
}

// Copy returns the copy that is here. It must not be changed.
func (c *Core) Copy() *txlog.Copy { return c.copy }

// Lacks reports whether the copy has not come as far as somebody says that the log has.
func (c *Core) Lacks() bool { return c.f.Lacks() }

// Over reports whether this core takes no inputs any more.
func (c *Core) Over() bool { return c.over }

// Succeed takes over from a core that was given up what no store has. It returns whom gossip suggests, up to where that one has told of what is
// applied, and up to where this one was made.
func (c *Core) Succeed(before *Core) (hint string, told, upto uint64) {
	c.twin = before.twin
	return before.hint, before.told, c.told
}

func fingerprint(key crypto.Signer) txlog.Hash {
	public, _ := key.Public().(ed25519.PublicKey)
	return txlog.Fingerprint(public)
}

func names(members []txlog.Member) (all []string) {
	for _, m := range members {
		all = append(all, m.Name)
	}
	return all
}
