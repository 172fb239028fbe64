// Package consortium shows the sequencer without any setup: five organisations share a private contract, each with a
// conch node, a database, an account and an identity of its own. Their nodes are killed, stopped and cut off from each
// other while payments flow from all of them, and the ledger says what became of each payment.
//
//	customers ── HTTP ── node ── mutual TLS through a proxy ── node ── HTTP ── customers
//	                      │                                     │
//	                  its database          one private chain (conch-devnode)
//
// The nodes are the product itself: conch node, with files as conch identity, conch contract deploy and an operator make
// them. There is a proxy for each node and each of its peers, so that any two sides can be cut apart, without an end that
// is told.
//
// The supervisor takes no part in what the nodes do. It asks one of them who coordinates, to choose its victims. At the
// end faults stop, every intent gets its time to end, the nodes are stopped, and package auditor gives the verdict, from
// the chain as package explorer reads it, the requests and the fates that nodes have told, and the databases as package
// pgnotes reads them.
//
// conch-lab chaos --sequencer is the same with a plan of more faults ([Plan]), and with an attacker (package attacker): databases
// are put back to what they were (then customers ask again), the chain is reorganised, one node has a clock that can be
// turned (package skew), and one asks the chain by way of a proxy that can hold back its head (package oldhead).
//
// Nothing is left behind, as in package demo.
package consortium
