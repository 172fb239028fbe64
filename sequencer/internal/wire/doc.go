// Package wire has the messages between the nodes of a contract, and their bytes.
//
// A message is about one contract. It is a request, the answer to one, or a notice. A request has an id that no other
// ever has, and says how long it is waited for; it gets exactly one of its answer or a Rejected (I10). Only a [Beat] is
// about all contracts of two nodes.
//
// The network may lose a message, repeat it, or deliver it late or out of order. What has to arrive is sent again by
// the machine that knows of it.
//
// # Bytes
//
// [Encode] and [Decode] are functions of their argument alone, safe for concurrent use. A peer may send anything: Decode
// refuses it with [ErrMalformed], [ErrSize], [ErrVersion] or [ErrKind], never panics, and takes memory by the length of
// the bytes. What it returns keeps the form that message.go describes: an attempt, a grant or a signature is there
// exactly if its reason is Done, accounts are not empty, every list keeps its limit. It does not know what is true: the
// machines judge whether an attempt keeps the ledger's rules, and whether a reason fits its question.
//
//	m, err := wire.Decode(envelope.Body)
//	if err != nil && m.Request.Number > 0 {
//		// The body is bad and the head is right. If the request is another node's, it is answered by Rejected with
//		// Malformed (I10). If it is of this node's incarnation, this was its answer.
//	}
//
// Encode refuses exactly what Decode would, so a fault is found at the node that has it. Batches are split by the Size
// of their items; an attempt of [MostAttempt] bytes can always be sent.
//
// A message may have secrets. Printed or logged as a whole it is one line of counts; its body is not protected, so log
// the message.
//
// # Evolution
//
// wire.proto has the format and the rules for its changes. A node ignores fields that it does not know, reads a reason
// that it does not know as Failed, and answers a kind that it does not know (ErrKind). testdata/golden has the bytes of
// each kind: a change of the format is a diff there.
//
// Sources: document 002; requirements P7 to P11, P16, P17, P21, P25, P32, I9, I10; D17, D18.
package wire
