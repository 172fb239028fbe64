package logs

import (
	"encoding/json"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
)

// Place is an entry, by its index and its hash.
type Place struct {
	Index uint64 `json:"index"`
	Hash  string `json:"hash"`
}

func placeOf(p txlog.Position) Place { return Place{p.Index, p.Hash.String()} }

// Status is what this node knows of a log.
type Status struct {
	AsOf      time.Time     `json:"as_of"`
	Namespace string        `json:"namespace"`
	State     string        `json:"state"`
	Why       string        `json:"why,omitempty"` // why it does not run
	ID        string        `json:"id,omitempty"`
	Machine   string        `json:"machine,omitempty"`
	LeaseMS   uint64        `json:"lease_ms,omitempty"`
	Self      string        `json:"self"`
	Store     uint64        `json:"store,omitempty"`
	Position  *Place        `json:"position,omitempty"`
	First     uint64        `json:"first,omitempty"` // the first entry that is here
	Leader    string        `json:"leader,omitempty"`
	Role      string        `json:"role"`
	Leads     bool          `json:"leads"`
	Decides   bool          `json:"decides"`
	Term      uint64        `json:"term"`
	Members   []MemberState `json:"members"`
	MembersAt uint64        `json:"members_at"` // the entry as of which these are the members
	Advice    string        `json:"advice,omitempty"`
	Waiting   int           `json:"waiting"` // goals
	Copy      Copy          `json:"copy"`
}

// The roles of a node in a log.
const (
	roleNone     = "none" // the log does not run here
	roleFollower = "follower"
	roleMember   = "member"
	roleLeader   = "leader"
)

// Health is what callers without a token may know of a log.
type Health struct {
	Namespace string `json:"namespace"`
	State     string `json:"state"`
	Role      string `json:"role"`
	Index     uint64 `json:"index"`
	Behind    uint64 `json:"behind"`
	Led       *bool  `json:"led,omitempty"` // a majority has a leader; members know that
}

func healthOf(s Status) Health {
	h := Health{Namespace: s.Namespace, State: s.State, Role: s.Role, Behind: s.Copy.Behind}
	if s.Position != nil {
		h.Index = s.Position.Index
	}
	if s.Decides {
		h.Led = new(s.Leader != "")
	}
	return h
}

// MemberState is what this node knows of a member.
type MemberState struct {
	Name    string `json:"name"`
	Key     string `json:"key"`
	Store   uint64 `json:"store"`
	Leaving bool   `json:"leaving"`
	HeardMS *int64 `json:"heard_ms,omitempty"` // known at members
	Stored  uint64 `json:"stored,omitempty"`   // known at the leader
}

// Copy is how far this node's copy is.
type Copy struct {
	Known    uint64 `json:"known"`  // the highest index that a head covers
	Behind   uint64 `json:"behind"` // entries
	GapMS    int64  `json:"gap_ms"` // for how long the next entry is known of and lacks
	Fetching bool   `json:"fetching"`
	Forks    uint64 `json:"forks"`
	Denied   uint64 `json:"denied"` // heads that the leader denies
}

func (r *part) status(now time.Time) Status {
	r.mu.Lock()
	state, why, closed, genesis, h, s := r.state, r.why, r.closed, r.genesis, r.host, r.store
	r.mu.Unlock()
	out := Status{AsOf: now.UTC(), Namespace: r.Namespace, State: state, Self: r.self, Role: roleNone, Members: []MemberState{}}
	if why != nil {
		out.Why = why.Error()
	}
	if genesis != nil {
		out.ID, out.Machine, out.LeaseMS = genesis.ID().String(), genesis.Machine, genesis.LeaseMS
	}
	switch {
	case closed:
		out.Advice = "make room on the disk of " + r.Store + " or mend it, and start this node again: until then the log is closed here, since nobody knows what of its last step is on the disk"
	case state == stateWaiting && why == nil:
		out.Advice = r.unmade()
	}
	if h == nil || s == nil {
		return out
	}
	st := h.Status()
	out.Position, out.Store, out.First = new(placeOf(st.Position)), st.Store, s.View().Floor.Index+1
	out.Leader, out.Leads, out.Decides, out.Term, out.Waiting = st.Leader, st.Leads, st.Decides, st.Term, st.Pending
	switch {
	case st.Leads:
		out.Role = roleLeader
	case st.Decides:
		out.Role = roleMember
	default:
		out.Role = roleFollower
	}
	out.Copy = copyOf(st.Position.Index, st.Copy)
	out.Members, out.MembersAt = membersOf(st)
	out.Advice = r.advice(st)
	return out
}

func copyOf(at uint64, f quorum.Copy) Copy {
	c := Copy{Known: max(f.Known, at), GapMS: f.Gap.Milliseconds(), Fetching: f.Fetching, Forks: f.Forks}
	c.Behind = c.Known - at
	for _, d := range f.Doubts {
		c.Denied += d.Count
	}
	return c
}

// keyOf is the fingerprint of a member's key, as [[peers]] have it.
func keyOf(m txlog.Member) string { return "sha256:" + m.Key.String() }

// membersOf returns the members, and as of which entry they are that.
func membersOf(st quorum.Status) (out []MemberState, at uint64) {
	out = []MemberState{}
	if st.Majority == nil || !st.Decides {
		for _, m := range st.Members {
			out = append(out, MemberState{Name: m.Name, Key: keyOf(m), Store: m.Store})
		}
		return out, st.MembersAt
	}
	for _, m := range st.Majority.Members {
		one := MemberState{Name: m.Name, Key: keyOf(m.Member), Store: m.Store, Leaving: m.Leaving, Stored: m.Stored}
		if m.Silent >= 0 {
			one.HeardMS = new(m.Silent.Milliseconds())
		}
		out = append(out, one)
	}
	return out, min(st.MembersAt, st.Majority.Committed)
}

// Entry is an entry of a log.
type Entry struct {
	Index   uint64    `json:"index"`
	Term    uint64    `json:"term"`
	Hash    string    `json:"hash"`
	Prev    string    `json:"prev"`
	State   string    `json:"state"` // the hash of the copy after it
	Kind    string    `json:"kind"`
	Leader  string    `json:"leader"`
	At      time.Time `json:"at"` // by the leader's clock, for people
	GoalID  string    `json:"goal_id,omitempty"`
	Goal    Bytes     `json:"goal,omitempty"`
	Result  Bytes     `json:"result,omitempty"`
	Fault   string    `json:"fault,omitempty"`
	Diff    []byte    `json:"diff,omitempty"`    // in base64
	Changes []string  `json:"changes,omitempty"` // the same for people, if the machine can say it
	Effects int       `json:"effects,omitempty"`
	Members []string  `json:"members,omitempty"`
	Upto    uint64    `json:"upto,omitempty"` // effects of entries up to there are performed
}

// Bytes are shown as the JSON that they are, or else as {"base64": …}.
type Bytes []byte

// MarshalJSON implements json.Marshaler.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if json.Valid(b) {
		return b, nil
	}
	return json.Marshal(struct {
		Base64 []byte `json:"base64"`
	}{b})
}

// UnmarshalJSON implements json.Unmarshaler: it takes what is there as it is.
func (b *Bytes) UnmarshalJSON(in []byte) error {
	*b = append(Bytes{}, in...)
	return nil
}

// entryOf returns an entry as users read it.
func (l *Log) entryOf(r txlog.Record) Entry {
	e := Entry{
		Index: r.Index, Term: r.Term, Hash: r.Hash().String(), Prev: r.Prev.String(), State: r.State.String(), Kind: r.Kind.String(), Leader: r.Leader,
		At: time.UnixMilli(r.At).UTC(), GoalID: r.GoalID, Goal: r.Goal, Result: r.Result, Fault: r.Fault, Diff: r.Diff, Effects: len(r.Effects), Upto: r.Upto.Index,
	}
	for _, m := range r.Members {
		e.Members = append(e.Members, m.Name)
	}
	if explain := l.machine().explain; explain != nil && len(r.Diff) > 0 {
		e.Changes, _ = explain(r.Diff) // the diff itself is there too
	}
	return e
}

// Genesis is how a log began.
type Genesis struct {
	ID        string        `json:"id"`
	Namespace string        `json:"namespace"`
	Machine   string        `json:"machine"`
	Members   []MemberState `json:"members"`
	LeaseMS   uint64        `json:"lease_ms"`
	Retention uint64        `json:"retention"` // entries for which results are kept
	Scrub     uint64        `json:"scrub"`     // entries from one scrub to the next
	Parent    *Place        `json:"parent,omitempty"`
	Bytes     []byte        `json:"bytes"` // whose hash the id is, in base64
}

func genesisOf(g txlog.Genesis) Genesis {
	out := Genesis{
		ID: g.ID().String(), Namespace: g.Namespace, Machine: g.Machine, LeaseMS: g.LeaseMS, Retention: g.Retention, Scrub: g.Scrub, Bytes: g.Encode(), Members: []MemberState{},
	}
	for _, m := range g.Members {
		out.Members = append(out.Members, MemberState{Name: m.Name, Key: keyOf(m), Store: m.Store})
	}
	if !g.Parent.Log.IsZero() {
		out.Parent = new(placeOf(g.Parent))
	}
	return out
}
