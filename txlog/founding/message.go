package founding

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/internal/wirepb"
)

// Message is what one node says to another.
type Message struct {
	Log  txlog.ID // zero with Seek, and with Prepare and Prepared while there is no log yet
	Body any      // one of the types below
}

type (
	// Prepare asks a node to draw a store for a log that is to be made. If the message names a log, the node is asked for
	// the store that it has of that one: it is to become a member.
	Prepare struct {
		Serial    uint64 // the answer repeats it, here and below
		Namespace string
		Machine   string
	}
	// Prepared answers Prepare with what the genesis has to say of the node.
	Prepared struct {
		Serial uint64
		Store  uint64
		Key    txlog.Hash
		Why    string // it is not possible; empty: it is
	}
	// Begin asks a node to keep a genesis and to begin.
	Begin struct {
		Serial  uint64
		Genesis txlog.Genesis
	}
	// Begun answers Begin. The message names the log that the node has, if that is another one: it stays with it.
	Begun struct {
		Serial uint64
		Why    string // it has not begun; empty: it has
	}
	// Seek asks a node how a log began, by its namespace.
	Seek struct {
		Serial    uint64
		Namespace string
	}
	// Known answers Seek. A node that does not know gives no answer.
	Known struct {
		Serial  uint64
		Genesis txlog.Genesis
	}
	// Appoint asks the leader to make these nodes the members, instead of those whom its asker has seen. Asked again, it changes nothing
	// more, and undoes nothing.
	Appoint struct {
		Serial uint64
		Names  []string
		Since  uint64 // an entry as of which the asker knows who the members are
	}
	// Appointed answers Appoint with the index of the entry that says so.
	Appointed struct {
		Serial uint64
		Index  uint64
		Err    error // then the index is zero; by errors.Is it is one of package txlog
	}
)

// The fields of these messages, and of the one with a list.
const (
	firstField, lastField = 13, 20
	appointField          = 19
	namesField            = 2
)

// Is reports whether a message is one of these. It reads no more of it than that, and reports false for what is no message.
func Is(in []byte) (is bool) {
	err := wire.Fields(in, func(number protowire.Number, _ []byte) error {
		is = is || number >= firstField && number <= lastField
		return nil
	})
	return is && err == nil
}

// Encode returns the bytes of a message. The error is of one that Decode would refuse too.
func (m Message) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return wire.Seal(m.Log, func(out *wirepb.Message) bool { return set(out, m.Body) })
}

// set reports whether there is a field for the body.
func set(out *wirepb.Message, body any) bool {
	switch b := body.(type) {
	case Prepare:
		out.Prepare = &wirepb.Prepare{Serial: b.Serial, Namespace: b.Namespace, Machine: b.Machine}
	case Prepared:
		out.Prepared = &wirepb.Prepared{Serial: b.Serial, Store: b.Store, Key: b.Key[:], Why: wire.Cut(b.Why)}
	case Begin:
		out.Begin = &wirepb.Begin{Serial: b.Serial, Genesis: b.Genesis.Encode()}
	case Begun:
		out.Begun = &wirepb.Begun{Serial: b.Serial, Why: wire.Cut(b.Why)}
	case Seek:
		out.Seek = &wirepb.Seek{Serial: b.Serial, Namespace: b.Namespace}
	case Known:
		out.Known = &wirepb.Known{Serial: b.Serial, Genesis: b.Genesis.Encode()}
	case Appoint:
		out.Appoint = &wirepb.Appoint{Serial: b.Serial, Names: b.Names, Since: b.Since}
	case Appointed:
		out.Appointed = &wirepb.Appointed{Serial: b.Serial, Failure: wire.Failure(b.Err)}
		if b.Err == nil {
			out.Appointed.Index = b.Index
		}
	default:
		return false
	}
	return true
}

// Decode returns the message that the bytes are. Lists without items are nil. Fields that are not known are ignored. The message does not keep
// the bytes.
func Decode(in []byte) (Message, error) {
	read, log, err := wire.Open(in, weigh)
	if err != nil {
		return Message{}, err
	}
	m := Message{Log: log}
	if m.Body, err = body(read); err == nil {
		err = m.check()
	}
	if err != nil {
		return Message{}, wire.Named(err)
	}
	return m, nil
}

// weigh counts the names before they are allocated: an empty one takes two bytes, and a string sixteen.
func weigh(in []byte) error {
	names := 0
	err := wire.Fields(in, func(number protowire.Number, value []byte) error {
		if number != appointField {
			return nil
		}
		return wire.Fields(value, func(number protowire.Number, _ []byte) error {
			if number == namesField {
				names++
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return wire.Within(names, txlog.MostMembers, "members")
}

// body returns the one body that is there.
func body(read *wirepb.Message) (any, error) {
	switch {
	case read.Prepare != nil:
		return Prepare{Serial: read.Prepare.Serial, Namespace: read.Prepare.Namespace, Machine: read.Prepare.Machine}, nil
	case read.Prepared != nil:
		p := read.Prepared
		key, err := wire.ReadHash(p.Key)
		return Prepared{Serial: p.Serial, Store: p.Store, Key: key, Why: wire.Cut(p.Why)}, err
	case read.Begin != nil:
		g, err := txlog.DecodeGenesis(read.Begin.Genesis)
		return Begin{Serial: read.Begin.Serial, Genesis: g}, err
	case read.Begun != nil:
		return Begun{Serial: read.Begun.Serial, Why: wire.Cut(read.Begun.Why)}, nil
	case read.Seek != nil:
		return Seek{Serial: read.Seek.Serial, Namespace: read.Seek.Namespace}, nil
	case read.Known != nil:
		g, err := txlog.DecodeGenesis(read.Known.Genesis)
		return Known{Serial: read.Known.Serial, Genesis: g}, err
	case read.Appoint != nil:
		return Appoint{Serial: read.Appoint.Serial, Names: read.Appoint.Names, Since: read.Appoint.Since}, nil
	case read.Appointed != nil:
		return Appointed{Serial: read.Appointed.Serial, Index: read.Appointed.Index, Err: wire.Failed(read.Appointed.Failure)}, nil
	}
	return nil, wire.Fault(wire.ErrMalformed, "it is not about how a log begins")
}

// check returns the first fault of a message, before it is encoded as after it was decoded.
func (m Message) check() error {
	none, free := false, false // whether there is no log, or there may be none
	var err error
	switch b := m.Body.(type) {
	case Prepare:
		free = true
		err = checkNames(b.Namespace, b.Machine)
	case Prepared:
		free = true
	case Begin:
		err = checkGenesis(b.Genesis, m.Log)
	case Seek:
		none = true
		err = checkNames(b.Namespace)
	case Known:
		err = checkGenesis(b.Genesis, m.Log)
	case Appoint:
		if err = wire.Within(len(b.Names), txlog.MostMembers, "members"); err == nil {
			err = checkNames(b.Names...)
		}
	case Appointed:
		err = wire.CheckFailure(b.Err)
	}
	switch {
	case err != nil:
		return wire.Named(err)
	case !free && none != m.Log.IsZero():
		return wire.Fault(wire.ErrMalformed, "it names no log, or one that is not made yet")
	}
	return nil
}

func checkGenesis(g txlog.Genesis, log txlog.ID) error {
	err := g.Check()
	if err == nil && g.ID() != log {
		err = wire.Fault(wire.ErrMalformed, "its genesis is of another log")
	}
	return err
}

func checkNames(names ...string) error {
	for _, name := range names {
		if name == "" || len(name) > limits.MostName || !utf8.ValidString(name) {
			return wire.Fault(wire.ErrMalformed, "a name is a text of 1 to %d bytes", limits.MostName)
		}
	}
	return nil
}
