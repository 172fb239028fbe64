package spray

// Action is one of the types below.
type Action interface{ action() }

type (
	// Connect asks for a connection to a peer. Up or Down follows.
	Connect struct{ Peer Peer }
	// Disconnect says that a peer's connection is no longer needed. No Down follows.
	Disconnect struct{ Peer string }
	// Send sends a message over the connection to a peer. It may be lost.
	Send struct {
		To      string
		Message Message
	}
	// Gained says that a peer is a neighbour now.
	Gained struct{ Peer string }
	// Lost says that a peer is no neighbour any more.
	Lost struct{ Peer string }
	// Refused says that a message was left out, and why. It is for counting.
	Refused struct {
		From string
		Why  Why
	}
)

func (Connect) action()    {}
func (Disconnect) action() {}
func (Send) action()       {}
func (Gained) action()     {}
func (Lost) action()       {}
func (Refused) action()    {}

// Why is a reason for which a message is refused.
type Why string

// The reasons.
const (
	Unconnected Why = "there is no connection to its sender"
	Crowded     Why = "there are too many connections"
	Flooding    Why = "its sender sends too many"
	Malformed   Why = "it breaks a limit"
	NamesUs     Why = "it has this node as somebody else"
	Unasked     Why = "it answers nothing that was asked"
	Hasty       Why = "its sender exchanges too often"
	Overfull    Why = "the view is full"
)
