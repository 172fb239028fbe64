// Package wire has the messages between the nodes of an overlay, what a subject signs, and their bytes.
//
// A [Statement] is what a subject says under a topic: its newest word counts. The subject alone signs it, so a relay
// can neither change nor refresh it. Beside it travels an age in rounds, which nobody signs: a relay that lies about it
// can make a word look younger by what it has lied, and cannot make a new one. A [Parcel] is what one node sends to
// another: statements, and marks by which two nodes find out what one of them lacks.
//
// [Encode] and [Decode] are functions of their argument alone, safe for concurrent use. A peer may send anything:
// Decode refuses it with [ErrMalformed], [ErrSize], [ErrVersion] or [ErrAge], never panics, and takes memory by the
// length of the bytes. It does not look at signatures.
//
// A [Heartbeat] is the body of a statement without a topic, and a [Vote] that of policy paper. Both have a form of
// their own, since they are signed: testdata/golden has the bytes.
//
// Sources: document 003; requirements B2, B7; D13.
package wire
