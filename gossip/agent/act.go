package agent

// Act is what a core asks for: one of the types below.
type Act interface{ act() }

type (
	// Connect asks the transport for a connection. What comes of it arrives.
	Connect struct{ Name, Address string }
	// Disconnect ends a connection, or the attempt to make one. Nothing arrives of it after that.
	Disconnect struct{ Name string }
	// Send sends a message on a line to each of several peers. It may be lost.
	Send struct {
		Line string
		To   []string
		Body []byte
	}
	// Unpublished says why this node does not say what Publish has asked for.
	Unpublished struct{ Why error }
	// Tell is something that the user wants to know.
	Tell struct{ Event Event }
)

func (Connect) act()     {}
func (Disconnect) act()  {}
func (Send) act()        {}
func (Unpublished) act() {}
func (Tell) act()        {}
