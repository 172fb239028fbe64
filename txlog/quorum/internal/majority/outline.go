package majority

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/conchhq/conch/txlog"
)

// outline is what a message says of itself before it is decoded. An entry without content takes two bytes of a message, and a hundred
// in memory: so nothing is decoded for a sender that may not send it, nor before its parts are counted.
type outline struct {
	kind     byte
	body     []byte
	from, to uint64 // stores
}

// The fields of the library's message.
const (
	toField, fromField                          = 2, 3
	entriesField, snapshotField, responsesField = 7, 9, 14
)

const (
	mostCount    = mostMessage / 64 // entries in one message: in memory they have about twice as many bytes as the largest message then
	mostSnapshot = 16 << 10         // bytes of the place that a member is sent: it names members, twice
	mostChange   = 16 << 10         // bytes of an entry that changes the members
	mostAsking   = 256              // bytes of a message that asks for a vote
)

// skim reads the outline of a message, and allocates nothing. The error is ErrMessage, ErrOtherLog, txlog.ErrSize or txlog.ErrVersion.
func skim(log txlog.ID, b []byte) (outline, error) {
	head := 2 + len(log)
	switch {
	case len(b) > mostMessage:
		return outline{}, fault(txlog.ErrSize, "a message of %d bytes, of %d at most", len(b), mostMessage)
	case len(b) < head || b[0] == 0:
		return outline{}, errUnread
	case b[0] > version:
		return outline{}, fault(txlog.ErrVersion, "a message of format %d", b[0])
	case txlog.ID(b[2:head]) != log:
		return outline{}, ErrOtherLog
	}
	o := outline{kind: b[1], body: b[head:]}
	switch o.kind {
	case ofLibrary:
		return o, o.weigh()
	case ofRefusal, ofFork:
		r := reader{b: o.body}
		if o.from, o.to = r.number(), r.number(); r.bad {
			return outline{}, errUnread
		}
		return o, nil
	}
	return outline{}, fault(ErrMessage, "kind %d", o.kind)
}

var errUnread = fault(ErrMessage, "it cannot be read")

// weigh reads the fields of the library's message without going into them.
func (o *outline) weigh() error {
	entries, snapshot := 0, 0
	for in := o.body; len(in) > 0; {
		field, kind, n := protowire.ConsumeTag(in)
		if n < 0 {
			return errUnread
		}
		in = in[n:]
		size := protowire.ConsumeFieldValue(field, kind, in)
		if size < 0 {
			return errUnread
		}
		switch {
		case field == fromField && kind == protowire.VarintType:
			o.from, _ = protowire.ConsumeVarint(in)
		case field == toField && kind == protowire.VarintType:
			o.to, _ = protowire.ConsumeVarint(in)
		case field == entriesField:
			entries++
		case field == snapshotField:
			snapshot += size
		case field == responsesField:
			return fault(ErrMessage, "it has what another kind has")
		}
		in = in[size:]
	}
	if entries > mostCount || snapshot > mostSnapshot {
		return fault(txlog.ErrSize, "a message of %d entries, and of %d bytes that say from where to go on", entries, snapshot)
	}
	return nil
}

// Ends returns between which stores a message of a log is. It is false if the message cannot be read. It costs no memory.
func Ends(log txlog.ID, message []byte) (from, to uint64, is bool) {
	o, err := skim(log, message)
	return o.from, o.to, err == nil
}
