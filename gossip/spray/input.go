package spray

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
