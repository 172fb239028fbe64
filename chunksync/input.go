package chunksync

// input is something that happened.
type input interface{ input() }

type (
	// begin says: this node leads, and has promised so to itself.
	begin struct{ Own Version }
	// promised answers ask: the peer hears this leader from now on, and nobody before.
	promised struct {
		Peer    string
		Held    Version
		Damaged bool // not all content of it is there any more
	}
	// adopted answers adopt: what was found is this leader's first catalog.
	adopted struct{ Version Version }
	// unadopted answers adopt: it could not be fetched from the peer.
	unadopted struct {
		Peer string
		Luck float64
	}
	// changed says: a write has made another catalog.
	changed struct{ Version Version }
	// lacking answers offer: the peer lacks these, and maybe more.
	lacking struct {
		Peer   string
		Chunks []Hash
	}
	// took answers offer: the peer holds this version.
	took struct {
		Peer    string
		Version Version
	}
	// sent answers send.
	sent struct{ Peer string }
	// failed answers ask, offer and send: it may have arrived or not. Luck is random,
	// from 0 up to 1.
	failed struct {
		Peer string
		Luck float64
	}
	// deposed says: somebody has promised to hear a later leader. It is not an answer.
	deposed struct{}
	// tick says: time has passed.
	tick struct{}
)

func (begin) input()     {}
func (promised) input()  {}
func (adopted) input()   {}
func (unadopted) input() {}
func (changed) input()   {}
func (lacking) input()   {}
func (took) input()      {}
func (sent) input()      {}
func (failed) input()    {}
func (deposed) input()   {}
func (tick) input()      {}

// action is something to be done.
type action interface{ action() }

type (
	// ask the peer to hear this leader and nobody before, and what it holds.
	ask struct{ Peer string }
	// adopt makes what a peer holds, or without one what this node holds, the first
	// catalog of this leader.
	adopt struct {
		Peer    string
		Version Version
	}
	// offer the peer the catalog of that version.
	offer struct {
		Peer    string
		Version Version
	}
	// send the peer a chunk.
	send struct {
		Peer  string
		Chunk Hash
	}
	// resign says: this leadership is over, and nothing more is asked for.
	resign struct{}
)

func (ask) action()    {}
func (adopt) action()  {}
func (offer) action()  {}
func (send) action()   {}
func (resign) action() {}
