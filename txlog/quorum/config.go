package quorum

import (
	"context"
	"crypto"
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/store"
)

// Config configures a [Host]. What has no default is required.
type Config struct {
	Self string        // this node's name
	Key  crypto.Signer // with which it signs heads, of ed25519
	New  func() txlog.State
	Seed uint64 // of all choices by chance; random, for each start

	Store store.Store
	Line  transport.Line  // of this log, to the other nodes; open until Run has returned
	Peers func() []string // the nodes that are connected

	// Publish has gossip tell everybody a head of this node, as bytes. nil: there is no gossip.
	Publish func(head []byte)
	// Perform performs an effect, after its entry is committed. See Due for how often. After an error it is tried again, as long as this
	// node may act, and the next one waits: to give one up, return nil. ctx ends within a round when the act door shuts, and has no
	// deadline, since the door moves on. It must end with ctx. nil: this node performs nothing, and effects wait for one that does.
	Perform func(ctx context.Context, d Due) error
	// Tell is told what happens. It is called by the loop, and must not wait. nil: nobody is told.
	Tell func(Event)
	// Submits reports whether another node's goals are taken here while this node leads, and those that have waited for that when it comes to
	// lead; those of members are. nil: everybody's.
	Submits func(node string) bool
	// Clock counts while the machine is suspended, and never goes back (default fence.Boottime).
	Clock func() time.Duration

	GoalTimeout   time.Duration // for which a goal's answer is waited for before others are asked (B8; default 15s)
	SnapshotEvery uint64        // records from one snapshot to the next (default 10,000)
	SnapshotAfter uint64        // records behind which a peer is offered a snapshot (default 5,000)
	Keep          uint64        // entries that are kept for members that are behind (default 10,000)
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	f := faults.List{Of: "txlog/quorum: "}
	f.Add(c.Store == nil || c.Line == nil || c.Peers == nil, "a store, a line and the peers are required")
	f.Join(c.settings().Validate())
	return f.All()
}

// settings returns what the core has to know.
func (c Config) settings() core.Settings {
	return core.Settings{
		Self: c.Self, Key: c.Key, New: c.New, Seed: c.Seed, Submits: c.Submits,
		GoalTimeout: c.GoalTimeout, SnapshotEvery: c.SnapshotEvery, SnapshotAfter: c.SnapshotAfter, Keep: c.Keep,
	}
}

// Due is an effect that is to be performed: at least once, one after the other in the order of the keys. It is performed again, by
// any member, if its leader has died before the log says that it was. Its receiver can refuse the repetition by its name.
type Due struct {
	Log txlog.ID
	txlog.Key
	txlog.Effect
}

// Name is the same each time that the effect is performed, and no other one's: as the key of an idempotent call, say.
func (d Due) Name() string { return fmt.Sprintf("%s/%d/%d", d.Log, d.Index, d.N) }
