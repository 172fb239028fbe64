package chunksync

// input is one event for the machine.
type input interface{ input() }

type (
	// begin says that this node leads, holds Own, and has promised its own tenure.
	begin struct{ Own Version }
	// promised answers ask: the peer has promised this leader and reports what it holds.
	promised struct {
		Peer    string
		Held    Version
		Damaged bool // chunks of Held are missing
	}
	// adopted answers adopt: this leader's first catalog is stored.
	adopted struct{ Version Version }
	// unadopted answers adopt: the peer's catalog could not be fetched.
	unadopted struct {
		Peer   string
		Jitter float64
	}
	// changed says that a write has stored a new version.
	changed struct{ Version Version }
	// lacking answers offer: the peer lacks at least these chunks.
	lacking struct {
		Peer   string
		Chunks []Hash
	}
	// took answers offer: the peer has stored this version.
	took struct {
		Peer    string
		Version Version
	}
	// sent answers send: the peer has stored the chunk.
	sent struct{ Peer string }
	// failed answers ask, offer and send, whose outcome is unknown. Jitter is in [0, 1).
	failed struct {
		Peer   string
		Jitter float64
	}
	// deposed says that a node has promised another leader. It may replace an answer or come unasked.
	deposed struct{}
	// tick says that the time returned by Next has come.
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

// action is one thing that the loop must do.
type action interface{ action() }

type (
	// ask asks the peer to promise this leader and to report what it holds.
	ask struct{ Peer string }
	// adopt stores the peer's catalog, or the own one if Peer is empty, as this leader's first.
	adopt struct {
		Peer    string
		Version Version
	}
	offer struct {
		Peer    string
		Version Version
	}
	send struct {
		Peer  string
		Chunk Hash
	}
	// resign ends this leadership. No action follows it.
	resign struct{}
)

func (ask) action()    {}
func (adopt) action()  {}
func (offer) action()  {}
func (send) action()   {}
func (resign) action() {}
