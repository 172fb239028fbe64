package swarm

import "time"

// Record is what was seen of a run. Times are since its beginning, by the clock of the demo: when it heard of something.
type Record struct {
	Nodes    int
	Electors int
	Lives    []Life
	Cuts     []Cut
	Views    []View // in any order
	Pieces   []Piece
	Heard    []Heard
	Kills    []Kill
	Falls    []Fall
	Crashed  int           // others that were killed
	Began    time.Duration // the last of all nodes was started
	Ended    time.Duration // what comes later is left out
	Timing   Timing
	Late     time.Duration // by which the demo was late at most: the machine was so busy
}

// Timing is what the nodes are configured with.
type Timing struct {
	Round    time.Duration
	Validity time.Duration // of a heartbeat at an elector
	Believed time.Duration // of a heartbeat at any other node: so long it may name a leader that it does not hear
	Relays   int           // that pass a heartbeat on until the last node has it, in a crowd of the size that the nodes are configured for
	Settle   time.Duration // in which all have to agree after a strike, and news has to be with all
}

// Life is one process of a node.
type Life struct {
	Node     string
	From, To time.Duration // To: when it was killed or ended; 0: it lives at the end
}

// Cut is a time in which the network was cut in two.
type Cut struct {
	Side     map[string]bool // the smaller side, without a majority of the electors
	From, To time.Duration
}

// View is what a process began to name.
type View struct {
	Life   int // of Record.Lives
	At     time.Duration
	Leader string // empty: nobody
	reign  uint64
}

// Kill is the death of a leader, which all others have to replace.
type Kill struct {
	Life int
	At   time.Duration
}

// Fall is the end of a process that nobody has killed.
type Fall struct {
	Life  int
	At    time.Duration
	Words string // the last ones on its stderr
}

// Piece is a piece of news that a node has taken.
type Piece struct {
	Topic string // no other piece has it
	Life  int    // whose it is
	At    time.Duration
}

// Heard says that a process has told of a piece of news.
type Heard struct {
	Life  int
	Topic string
	At    time.Duration
}

// lives reports whether a process is there at all times from one instant to another.
func (l Life) lives(from, to time.Duration) bool {
	return l.From <= from && (l.To == 0 || l.To >= to)
}
