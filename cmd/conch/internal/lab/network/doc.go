// Package network is what lies between the nodes of an experiment: relays, so that it can be cut into two sides and healed.
// While it is cut nothing passes between the sides, and neither end is told, as with packets that are dropped.
//
// A relay has to know both of its ends. Between two nodes it leads to one and is known to the other alone. In front of a
// node it is for all that dial; it knows them by the address from which they dial, so each node needs one of its own.
package network
