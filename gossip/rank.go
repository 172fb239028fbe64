package gossip

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// candidate is a subject of a namespace, as its newest heartbeat has it.
type candidate struct {
	said  wire.Said
	beat  wire.Heartbeat
	name  wire.Name
	hash  uint64
	made  time.Duration // when it was said, on this node's clock, by the age of the first copy
	first time.Duration // when the first heartbeat of its incarnation was said
	named time.Duration // until then its twin is not told of again
	last  life          // the one before this incarnation; zero: none is known
	beats allowance     // for passing its heartbeats on, while it is one of the first ones
	direct
}

// life is how far a subject came in an incarnation, as far as this node has heard.
type life struct{ incarnation, sequence uint64 }

// goesOn reports whether a statement shows that an earlier life goes on beside this one. What it had said before is known,
// and anybody may bring it again. Of a life that this node has not heard only another host shows that.
func (c *candidate) goesOn(said *wire.Said, host string) bool {
	if said.Incarnation == c.last.incarnation {
		return said.Sequence > c.last.sequence
	}
	return host != c.beat.Host
}

// before reports whether one candidate comes before another: by reign, then by seniority, then by hash. It is a total
// order of all subjects, so that a tie is no reason to pick one at random (B3).
func (c *candidate) before(o *candidate) bool {
	if by := cmp.Or(cmp.Compare(o.beat.Reign, c.beat.Reign), cmp.Compare(o.beat.Seniority, c.beat.Seniority), cmp.Compare(c.hash, o.hash)); by != 0 {
		return by < 0
	}
	return bytes.Compare(c.said.Subject[:], o.said.Subject[:]) < 0
}

// placed is the part of the order that depends on the name alone, and differs from namespace to namespace.
func placed(namespace string, s wire.Subject) uint64 {
	b := append([]byte("conch gossip order 1\n"+namespace+"\n"), s[:]...)
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}
