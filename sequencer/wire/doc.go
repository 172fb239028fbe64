// Package wire has the messages between the nodes of a contract, and their bytes.
//
// A message is about one contract. It is a request, the answer to one, or a notice. A request has an id that no other
// ever has, and says how long it is waited for; it gets exactly one of its answer or a Rejected (I10). Only a [Beat] is
// about all contracts of two nodes.
//
// The network may lose a message, repeat it, or deliver it late or out of order. What has to arrive is sent again by
// the machine that knows of it.
//
// Sources: document 002; requirements P7 to P11, P16, P17, P21, P25, P32, I9, I10; DESIGN D17 and D18.
package wire
