package overlay

// Input is one of the types below.
type Input interface{ input() }

type (
	// Tick says that about a second has passed. The caller's jitter is the jitter of the periods.
	Tick struct{}
	// Up says that there is a connection to a peer, whichever side has made it.
	Up struct{ Peer string }
	// Down says that there is none (any more): a peer was dialled in vain, or a connection has ended, at either end.
	Down struct{ Peer string }
	// Received is a message of a peer. The transport has proven its name.
	Received struct {
		From    string
		Message Message
	}
	// Keep says which connections the caller needs for itself, whatever the overlay does: all of them, so that those of the
	// last Keep are not needed any more. They are no arcs. One that cannot be made is tried again each second.
	Keep struct{ Peers []Peer }
	// Leave says that this node leaves. After it the machine says goodbye to each peer that is Up, and takes nothing else; to
	// come back is a new machine.
	Leave struct{}
)

func (Tick) input()     {}
func (Up) input()       {}
func (Down) input()     {}
func (Received) input() {}
func (Keep) input()     {}
func (Leave) input()    {}

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
