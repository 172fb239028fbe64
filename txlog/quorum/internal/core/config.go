package core

import (
	"crypto"
	"crypto/ed25519"
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/courier"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// Round is a tick of the machines.
const Round = 100 * time.Millisecond

// Settings is what a core needs to know beside what its store has: fields of quorum.Config, which says what they mean.
type Settings struct {
	Self string
	Key  crypto.Signer
	New  func() txlog.State
	Seed uint64

	Submits func(node string) bool

	GoalTimeout   time.Duration
	SnapshotEvery uint64
	SnapshotAfter uint64
	Keep          uint64
}

// Validate returns an error that lists every fault.
func (s Settings) Validate() error {
	f := faults.List{Of: "txlog/quorum: "}
	f.Add(s.Self == "" || len(s.Self) > limits.MostName, "a node's name has 1 to %d bytes", limits.MostName)
	is := false
	if s.Key != nil {
		_, is = s.Key.Public().(ed25519.PublicKey)
	}
	f.Add(!is, "the key is no ed25519 key")
	f.Add(s.New == nil, "a state machine is required")
	f.Add(s.GoalTimeout < 0, "a timeout is below 0")
	return f.All()
}

// Has is what a store has kept of a log, as Load reads it.
type Has struct {
	Store   uint64 // its id
	Genesis txlog.Genesis
	Copy    *txlog.Copy     // of all records that are there; the core owns it
	Blank   bool            // the log has a parent, and the state with which it begins is not there: the copy is of no use
	Stored  majority.Stored // of the authority
	Tail    []txlog.Record  // that the authority has stored after the records
	Past    []txlog.Record  // right before the copy's last one: see follower.Config
	First   uint64          // the index of the first record
	Head    txlog.Head      // the newest one; zero: none
	Bridges []follower.Bridge
	Before  []txlog.Member   // who the members were before the last change
	Offers  []follower.Offer // of the snapshots, the older first

	// At returns the place of a record, which it reads from the store. It is false if there is no such record any more.
	At func(index uint64) (txlog.Position, bool, error)
}

// kept returns the index of the newest snapshot; 0: there is none.
func (h Has) kept() uint64 {
	if n := len(h.Offers); n > 0 {
		return h.Offers[n-1].Head.Index
	}
	return 0
}

func (s Settings) member(h Has) member.Config {
	return member.Config{
		Self: s.Self, Base: h.Copy, Tail: h.Tail, New: s.New, Kept: h.kept(), SnapshotEvery: s.SnapshotEvery,
	}
}

func (s Settings) quorum(h Has, look func([]txlog.Record) error) majority.Config {
	return majority.Config{
		Self: s.Self, Store: h.Store, Log: h.Genesis.ID(), Stored: h.Stored, Have: h.Copy.Position().Index, Lease: time.Duration(h.Genesis.LeaseMS) * time.Millisecond,
		Seed: s.Seed, Look: look, Last: look(h.Tail) != nil, Keep: s.Keep,
	}
}

func (s Settings) follower(h Has, decides bool) follower.Config {
	return follower.Config{
		Self: s.Self, Base: h.Copy, New: s.New, Member: decides, Past: h.Past, First: h.First, Head: h.Head, Bridges: h.Bridges, Offers: h.Offers, Seed: s.Seed,
		SnapshotAfter: s.SnapshotAfter, SnapshotEvery: s.SnapshotEvery,
	}
}

func (s Settings) courier(known func(string, []byte, uint64) (txlog.Result, bool, error)) courier.Config {
	return courier.Config{Self: s.Self, Timeout: s.GoalTimeout, Known: known}
}
