// Package wire has the bytes of the messages that keep the overlay.
//
// [Encode] and [Decode] are functions of their argument alone, safe for concurrent use. A peer may send anything: Decode
// refuses it with [ErrMalformed], [ErrSize], [ErrVersion] or [ErrKind], never panics, and takes memory by the length of
// the bytes. What it returns keeps the limits of package overlay. Encode refuses exactly what Decode would, so a fault is
// found at the node that has it.
//
// spray.proto has the format and the rules for its changes. A node ignores fields that it does not know. testdata/golden
// has the bytes of each message: a change of the format is a diff there.
//
// Sources: requirement B23; the paper that package overlay names.
package wire
