package chunksync

// Input is something that happened.
type Input interface{ input() }

type (
	// Begin says: this node leads, and has promised so to itself.
	Begin struct{ Own Version }
	// Promised answers Ask: the peer hears this leader from now on, and nobody before.
	Promised struct {
		Peer    string
		Held    Version
		Damaged bool // not all content of it is there any more
	}
	// Adopted answers Adopt: what was found is this leader's first catalog.
	Adopted struct{ Version Version }
	// Unadopted answers Adopt: it could not be fetched from the peer.
	Unadopted struct {
		Peer string
		Luck float64
	}
	// Changed says: a write has made another catalog.
	Changed struct{ Version Version }
	// Missing answers Offer: the peer lacks these, and maybe more.
	Missing struct {
		Peer   string
		Chunks []Hash
	}
	// Took answers Offer: the peer holds this version.
	Took struct {
		Peer    string
		Version Version
	}
	// Sent answers Send.
	Sent struct{ Peer string }
	// Failed answers Ask, Offer and Send: it may have arrived or not. Luck is random,
	// from 0 up to 1.
	Failed struct {
		Peer string
		Luck float64
	}
	// Deposed says: somebody has promised to hear a later leader. It is not an answer.
	Deposed struct{}
	// Tick says: time has passed.
	Tick struct{}
)

func (Begin) input()     {}
func (Promised) input()  {}
func (Adopted) input()   {}
func (Unadopted) input() {}
func (Changed) input()   {}
func (Missing) input()   {}
func (Took) input()      {}
func (Sent) input()      {}
func (Failed) input()    {}
func (Deposed) input()   {}
func (Tick) input()      {}

// Action is something to be done.
type Action interface{ action() }

type (
	// Ask the peer to hear this leader and nobody before, and what it holds.
	Ask struct{ Peer string }
	// Adopt makes what a peer holds, or without one what this node holds, the first
	// catalog of this leader.
	Adopt struct {
		Peer    string
		Version Version
	}
	// Offer the peer the catalog of that version.
	Offer struct {
		Peer    string
		Version Version
	}
	// Send the peer a chunk.
	Send struct {
		Peer  string
		Chunk Hash
	}
	// Resign says: this leadership is over, and nothing more is asked for.
	Resign struct{}
)

func (Ask) action()    {}
func (Adopt) action()  {}
func (Offer) action()  {}
func (Send) action()   {}
func (Resign) action() {}
