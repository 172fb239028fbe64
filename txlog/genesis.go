package txlog

import (
	"slices"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// Member is a node that decides what the next entry is.
type Member struct {
	Name string // by which other nodes and the configuration know it
	Key  Hash   // the fingerprint of the key with which it signs heads
	// Store names its store. A node whose store is another one is no member until an entry says so: what the lost store
	// had promised, the new one does not know.
	Store uint64
}

// Genesis is how a log begins. Nothing but a person's command makes one; its hash is the log's name, so that two logs of one
// namespace cannot be taken for each other.
type Genesis struct {
	Namespace string
	Machine   string // the kind and version of the state machine, such as "kv/1"
	Members   []Member
	LeaseMS   uint64 // for how long a leader's act door may be open after its last beat; one for the whole log, for all time
	Retention uint64 // for how many entries results are kept
	Scrub     uint64 // entries from one scrub to the next
	Nonce     Hash   // by chance, so that no two logs are alike
	// Parent is where an older log ended, if this one goes on with its state and its indices: the majority of its members
	// was lost. See Copy.Child.
	Parent Position
	State  Hash // of the copy at the begin, if there is a parent; else zero
}

// Position is a place in a log.
type Position struct {
	Log   ID
	Index uint64 // before the first entry: 0, or the parent's
	Term  uint64 // in which the entry was made; 0 before the first one
	Hash  Hash   // of the entry; of the genesis before the first one
}

// With returns the genesis with its zero fields set to what is usual.
func (g Genesis) With() Genesis {
	if g.LeaseMS == 0 {
		g.LeaseMS = defaultLease
	}
	if g.Retention == 0 {
		g.Retention = DefaultRetention
	}
	if g.Scrub == 0 {
		g.Scrub = defaultScrub
	}
	return g
}

// ID returns the log's name.
func (g Genesis) ID() ID { return hashOf("genesis", g.Encode()) }

// Start returns the position before the first entry. A log with a parent goes on with its indices, so that no key of an
// effect, no result and no reader's place comes twice; its terms begin anew.
func (g Genesis) Start() Position {
	id := g.ID()
	return Position{Log: id, Index: g.Parent.Index, Hash: id}
}

// Encode returns the bytes of the genesis.
func (g Genesis) Encode() []byte {
	e := encoder{b: []byte{version}}
	e.text(g.Namespace)
	e.text(g.Machine)
	e.members(g.Members)
	e.number(g.LeaseMS)
	e.number(g.Retention)
	e.number(g.Scrub)
	e.hash(g.Nonce)
	e.position(g.Parent)
	e.hash(g.State)
	return e.b
}

// DecodeGenesis reads what Encode returns. The error is ErrMalformed, ErrSize or ErrVersion.
func DecodeGenesis(b []byte) (Genesis, error) {
	d := decoder{b: b}
	d.version()
	g := Genesis{Namespace: d.text(limits.MostName, "a namespace"), Machine: d.text(limits.MostName, "a machine's name"), Members: d.members()}
	g.LeaseMS, g.Retention, g.Scrub = d.number(), d.number(), d.number()
	g.Nonce, g.Parent, g.State = d.hash(), d.position(), d.hash()
	if err := d.end(); err != nil {
		return Genesis{}, err
	}
	if err := g.Check(); err != nil {
		return Genesis{}, err
	}
	return g, nil
}

// Check returns the first fault of the genesis. The error is ErrMalformed or ErrSize.
func (g Genesis) Check() error {
	switch {
	case g.Namespace == "" || len(g.Namespace) > limits.MostName || !utf8.ValidString(g.Namespace):
		return fault(ErrMalformed, "a namespace is a text of 1 to %d bytes", limits.MostName)
	case g.Machine == "" || len(g.Machine) > limits.MostName || !utf8.ValidString(g.Machine):
		return fault(ErrMalformed, "a machine's name is a text of 1 to %d bytes", limits.MostName)
	case g.LeaseMS < LeastLease || g.LeaseMS > MostLease:
		return fault(ErrSize, "a lease of %d ms; it is from %d to %d", g.LeaseMS, LeastLease, MostLease)
	case g.Retention == 0 || g.Retention > limits.MostRetention:
		return fault(ErrSize, "results are kept for 1 to %d entries, not %d", limits.MostRetention, g.Retention)
	case g.Scrub == 0:
		return fault(ErrSize, "a scrub comes after one entry at least")
	case g.Parent.Log.IsZero() != g.State.IsZero() || g.Parent.Log.IsZero() && g.Parent != (Position{}):
		return fault(ErrMalformed, "a log with a parent has its place and the hash of its state, and another one has neither")
	}
	return CheckMembers(g.Members)
}

// CheckMembers returns the first fault of a set of members. The error is ErrMalformed or ErrSize.
func CheckMembers(members []Member) error {
	if len(members) == 0 || len(members) > MostMembers {
		return fault(ErrSize, "a log has 1 to %d members, not %d", MostMembers, len(members))
	}
	for i, m := range members {
		switch {
		case m.Name == "" || len(m.Name) > limits.MostName || !utf8.ValidString(m.Name):
			return fault(ErrMalformed, "a member's name is a text of 1 to %d bytes", limits.MostName)
		case m.Store == 0:
			return fault(ErrMalformed, "the store of member %s has no id", m.Name)
		}
		for _, other := range members[:i] {
			if other.Name >= m.Name {
				return fault(ErrMalformed, "members are sorted by name, and each is there once")
			}
			if other.Store == m.Store || other.Key == m.Key && !m.Key.IsZero() {
				return fault(ErrMalformed, "members %s and %s have one store or one key", other.Name, m.Name)
			}
		}
	}
	return nil
}

// FindMember returns the member with a name.
func FindMember(members []Member, name string) (Member, bool) {
	i := slices.IndexFunc(members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return Member{}, false
	}
	return members[i], true
}

// Majority returns how many of the members are more than half.
func Majority(members []Member) int { return len(members)/2 + 1 }

// version is the first byte of whatever is stored.
const version = 4

func (d *decoder) version() {
	if v := d.take(1); d.err == nil && v[0] != version {
		if v[0] > version {
			d.fail(ErrVersion, "its format is %d, and this conch reads up to %d", v[0], version)
		} else {
			d.fail(ErrMalformed, "its format is %d, and this conch reads %d", v[0], version)
		}
	}
}

func (e *encoder) members(members []Member) {
	e.number(uint64(len(members)))
	for _, m := range members {
		e.text(m.Name)
		e.hash(m.Key)
		e.number(m.Store)
	}
}

func (d *decoder) members() (all []Member) {
	for range d.count(MostMembers, "members") {
		all = append(all, Member{Name: d.text(limits.MostName, "a member's name"), Key: d.hash(), Store: d.number()})
	}
	return all
}

func (e *encoder) position(p Position) {
	e.hash(p.Log)
	e.number(p.Index)
	e.number(p.Term)
	e.hash(p.Hash)
}

func (d *decoder) position() Position {
	return Position{Log: d.hash(), Index: d.number(), Term: d.number(), Hash: d.hash()}
}
