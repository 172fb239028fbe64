package transport

import "time"

// Roamer is an endpoint in a network whose nodes do not all know each other: its user makes and ends connections by name.
// One connection carries both directions. Peers returns those that are connected; Send to anybody else is ErrPeer.
//
// Links says for each peer by turns Up and Down, and Down where a Connect has failed. A broken connection is not made again
// by the transport. It is safe for concurrent use.
type Roamer interface { //nolint:interfacebloat // what the loop of an overlay needs
	Endpoint
	// Connect asks for a connection to a node that listens at an address (host:port; if it is empty, where the transport
	// knows that node to be). Links says what came of it: Up, or Down. With a peer that is connected, or is being
	// connected, it changes nothing.
	Connect(name, address string)
	// Disconnect ends the connection with a node, or the attempt. What was sent before still leaves, if the peer takes it
	// within a second. Links says nothing about it after that, until the next Connect of either side.
	Disconnect(name string)
	// Changed has a value when Links has something.
	Changed() <-chan struct{}
	// Links returns what has become of connections since the last call, in order. An Up is there before any message of
	// that connection is in an inbox.
	Links() []Link
}

// How a node that listens bears a crowd, so that simulations have the same limits. Connections above MostStrangers that are about to prove who they are wait until one of
// those is done; if none is for as long as StrangerWaits, one of them goes, at random. So those that only hold a place lose it, and
// where thousands come at one time nearly all get through.
const (
	MostStrangers = 256
	StrangerWaits = 2 * time.Millisecond
)

// Link says that a connection is there, or is there no more.
type Link struct {
	Peer string
	Up   bool
	Key  [32]byte // with Up: SHA-256 of the public key that the peer has proven; zero in package memory unless it was given one
}
