package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Subject names the node that says something: a public key of ed25519, or what a Scheme takes for one.
type Subject [32]byte

// String returns the first four bytes.
func (s Subject) String() string { return hex.EncodeToString(s[:4]) }

// Statement is what a subject says under a topic. What it says next under the same topic replaces it.
type Statement struct {
	Subject     Subject
	Incarnation uint64 // of the subject's start; a later one replaces all of an earlier one
	Sequence    uint64 // rising within an incarnation, over all topics
	Namespace   string
	Topic       string // empty: a heartbeat or a vote
	Body        []byte // at most MostBody bytes
}

// Key is what a statement is kept under.
type Key struct {
	Subject          Subject
	Namespace, Topic string
}

// Key returns what the statement is kept under.
func (s *Statement) Key() Key { return Key{s.Subject, s.Namespace, s.Topic} }

// Name is a short name of a Key, for marks.
type Name [16]byte

// Name returns the first half of the SHA-256 of the key.
func (k Key) Name() (n Name) {
	b := append([]byte("conch gossip name 1\n"), k.Subject[:]...)
	b = append(b, byte(len(k.Namespace)))
	b = append(append(b, k.Namespace...), k.Topic...)
	sum := sha256.Sum256(b)
	copy(n[:], sum[:])
	return n
}

// Later reports whether a statement replaces another of the same key.
func (s *Statement) Later(incarnation, sequence uint64) bool {
	return s.Incarnation > incarnation || s.Incarnation == incarnation && s.Sequence > sequence
}

// Signed returns the bytes that the subject signs. They never change.
func (s *Statement) Signed() []byte {
	b := make([]byte, 0, 96+len(s.Namespace)+len(s.Topic)+len(s.Body))
	b = append(b, "conch gossip statement 1\n"...)
	b = append(b, s.Subject[:]...)
	b = binary.BigEndian.AppendUint64(b, s.Incarnation)
	b = binary.BigEndian.AppendUint64(b, s.Sequence)
	for _, part := range []string{s.Namespace, s.Topic} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return append(b, s.Body...)
}

// Said is a statement on its way.
type Said struct {
	Statement

	Signature []byte
	Age       int32 // in rounds, from 0 to MostAge; not signed
}

// Mark says which statement of a key a node has.
type Mark struct {
	Name        Name
	Incarnation uint64
	Sequence    uint64
}

// Parcel is what one node sends to another.
type Parcel struct {
	Opening bool   // the marks are all that the sender has: it asks for what is newer, or missing here
	Said    []Said // at most MostSaid
	Marks   []Mark // at most MostMarks
	Wants   []Name // the receiver's statements that the sender lacks; at most MostMarks
}
