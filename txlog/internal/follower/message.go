package follower

import (
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// The limits of what nodes send each other. A decoder refuses more before it makes anything of it.
const (
	MostRecords = 256       // records of one answer
	MostAnswer  = 256 << 10 // bytes of an answer's records, unless the first one alone has more
	MostHeads   = 8         // heads of one answer
	MostBridges = 4         // bridges of one answer
	MostBridge  = 256       // records of one bridge
	bridgeBytes = 2 << 20   // of a bridge's records, unless it is one: beside the records of an answer there is room for so many
	PieceSize   = 256 << 10 // bytes of each piece of a snapshot but the last
	MostPieces  = limits.MostSnapshot / PieceSize
)

// Pull asks for records.
type Pull struct {
	Serial uint64 // the answer repeats it
	From   uint64 // the first index that is asked for; 0: whatever there is to begin from
	Upto   uint64 // the last one; the answer may end earlier
	Known  uint64 // the index of the newest head that the asker has: it needs no older one for the last record
	Change uint64 // the index of the newest change of members of which the asker knows
}

// History answers a Pull. One without anything says that there is nothing to send now, so that the asker asks another one.
type History struct {
	Serial  uint64
	Waited  time.Duration  // for which the request waited for what was not there yet, so that the asker learns how long answers travel
	Records []txlog.Record // of consecutive indexes
	Heads   []txlog.Head   // that cover the records, and the newest one
	Bridges []Bridge       // over changes of members after the one that the asker knows
	Offer   *Offer         // instead of records
}

// Bridge proves a change of members to a node that knows the members before it: the record that changes them, the
// records up to a head, and that head, signed by one of the members before.
type Bridge struct {
	Records []txlog.Record // the first one is of kind Changed; the head is of the last one
	Head    txlog.Head
}

// Index returns the index of the change.
func (b *Bridge) Index() uint64 {
	if len(b.Records) == 0 {
		return 0
	}
	return b.Records[0].Index
}

// Offer says that a node has a snapshot. Its pieces are checked one by one against the offer; what they restore to is
// checked against the head.
type Offer struct {
	Head txlog.Head   // of the snapshot's last record. Before the log's first entry nobody signs it: the genesis says what the state is
	Size uint64       // bytes of the snapshot
	Sums []txlog.Hash // of its pieces
}

// Want asks for a piece of a snapshot.
type Want struct {
	At    txlog.Hash // the hash of the snapshot's last record
	Piece uint64     // from 0
}

// Piece is a piece of a snapshot. One without bytes says that there is no such piece here.
type Piece struct {
	Want

	Bytes []byte
}
