package overlay

import (
	"unicode"
	"unicode/utf8"
)

// What a message may hold, and what one machine keeps.
const (
	// MostName is the longest name of a node, in bytes.
	MostName = 64
	// MostAddress is the longest address, in bytes.
	MostAddress = 255
	// MostArcs is how many arcs a view may have before a Forward is refused. A view of 5,000 nodes has nine on average.
	MostArcs = 64
	// MostSample is how many arcs an exchange may carry: half of the largest view.
	MostSample = MostArcs / 2
	// MostMet is how many peers a Welcome may name.
	MostMet = 16
	// MostPeers is with how many peers a machine takes no connection more that others open. Those for its own arcs, MostArcs
	// at most, it makes also then.
	MostPeers = 256
)

// Peer is another node: its name, which the transport proves, and the place where it listens.
type Peer struct {
	Name    string
	Address string // for the transport alone; it may be empty if names are enough
}

// Message is one of the types below.
type Message interface{ message() }

type (
	// Hello says how the sender sees the connection. Both sides say it at once when the connection is made, when it
	// changes, and again in each period: a side that is silent for three periods needs the connection no longer.
	Hello struct {
		Address     string // of the sender
		Incarnation uint64 // of the sender: one start; not 0
		Holds       bool   // the sender needs the connection
	}
	// Subscribe asks a contact to make the sender known to others. It is answered by Welcome.
	Subscribe struct{ Number uint64 }
	// Welcome answers Subscribe with some peers for the newcomer's cache. One without a number says that there is no room,
	// and that those peers may have some.
	Welcome struct {
		Number uint64 // of the Subscribe; 0: there is no room
		Met    []Peer
	}
	// Forward asks the receiver to take an arc to a newcomer.
	Forward struct {
		Number   uint64
		Newcomer Peer
	}
	// Exchange gives half of the sender's view for half of the receiver's. It is answered by Exchanged.
	Exchange struct {
		Number uint64
		Arcs   []Peer
	}
	// Exchanged answers Exchange.
	Exchanged struct {
		Number uint64 // of the Exchange
		Arcs   []Peer
	}
	// Goodbye says that the sender leaves.
	Goodbye struct{}
)

func (Hello) message()     {}
func (Subscribe) message() {}
func (Welcome) message()   {}
func (Forward) message()   {}
func (Exchange) message()  {}
func (Exchanged) message() {}
func (Goodbye) message()   {}

// Sound reports whether a message keeps the limits above, for any receiver.
func Sound(m Message) bool {
	switch m := m.(type) {
	case Hello:
		return m.Incarnation != 0 && isAddress(m.Address)
	case Welcome:
		return arePeers(m.Met, MostMet)
	case Forward:
		return m.Newcomer.isSound()
	case Exchange:
		return len(m.Arcs) > 0 && arePeers(m.Arcs, MostSample)
	case Exchanged:
		return arePeers(m.Arcs, MostSample)
	case Subscribe, Goodbye:
		return true
	}
	return false
}

// names reports whether a message has a node in one of its lists, or as a newcomer.
func names(m Message, name string) bool {
	var all []Peer
	switch m := m.(type) {
	case Welcome:
		all = m.Met
	case Forward:
		return m.Newcomer.Name == name
	case Exchange:
		all = m.Arcs
	case Exchanged:
		all = m.Arcs
	}
	for _, p := range all {
		if p.Name == name {
			return true
		}
	}
	return false
}

func arePeers(all []Peer, most int) bool {
	for _, p := range all {
		if !p.isSound() {
			return false
		}
	}
	return len(all) <= most
}

func (p Peer) isSound() bool { return p.Name != "" && isText(p.Name, MostName) && isAddress(p.Address) }

func isAddress(s string) bool { return isText(s, MostAddress) }

// isText keeps what nobody could read in a log out of one.
func isText(s string, most int) bool {
	if len(s) > most || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
