package core

import "time"

// Input is what the core is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that the time has come that Due has named.
	Tick struct{}
	// Looks says that somebody has changed silences: they are read at once.
	Looks struct{}
	// Loaded is what the rows are. At the begin of a term, and after each write that has failed.
	Loaded struct {
		At time.Time // by the database's clock
		Rows
		Looked
	}
	// Evaluated is what the rules have given at the instant that was asked for.
	Evaluated struct {
		At      time.Time
		Results []Result
		Looked
	}
	// Unevaluated says that the rules could not be evaluated, or nothing be looked at.
	Unevaluated struct{}
	// Answered is what has become of a message that was sent.
	Answered struct {
		Receiver string
		Answer   Answer
	}
	// Lost says that the rows could not be read, or not be written. A write may have been carried out.
	Lost struct{}
)

func (Tick) input()        {}
func (Looks) input()       {}
func (Loaded) input()      {}
func (Evaluated) input()   {}
func (Unevaluated) input() {}
func (Answered) input()    {}
func (Lost) input()        {}

// Looked is what is read with each evaluation.
type Looked struct {
	Silences []Silence
	Nodes    []Node
	Claims   uint64 // how often a node has said that nobody evaluates
}

// Node is a process that reports its samples. Whether it lives says its Seq, which rises: no clocks are compared.
type Node struct {
	Name  string
	Life  string // another one each time it starts
	Seq   uint64
	Cries uint64 // how often it has said in this life that it cannot ask the database
	Hash  string // of the rules that it has
}

// Out is what is to be done, in this order: the rows are recorded, in one transaction with the fence; if that has failed the core hears [Lost], and
// nothing of the rest is done. Then messages are sent, each through the gate.
type Out struct {
	Facts    []any
	Record   *Rows
	Sends    []Message // each is answered
	To       []string  // the receiver of each
	Load     bool      // the rows are to be read: Loaded or Lost
	Evaluate time.Time // the rules are to be evaluated at this instant, and what is looked at is read: Evaluated or Unevaluated; zero: not now
}

// Rows are what is kept in tables. In an [Out] they are what has changed.
type Rows struct {
	Groups     []Group
	Members    []Standing
	Tellings   []Telling
	Gone       []string // keys of groups that are deleted with all that is theirs
	Ended      []Standing
	Evaluation *Evaluation // nil: it has not changed
}

// Group is the members of a rule that are told together.
type Group struct {
	Key     string
	Rule    string
	Labels  map[string]string
	Seq     uint64    // rises with each change that is worth a message
	Fires   bool      // as of Seq
	Since   time.Time // when it began to fire
	Until   time.Time // when it ended; zero while it fires
	Fired   []Firer   // some of what has fired since
	Count   int       // how many that were
	Silence string    // whose end has made Seq
}

// Standing is a member whose condition is true, or was while it still fires.
type Standing struct {
	Key    string // of its group
	ID     string // of its labels
	Labels map[string]string
	Value  float64
	Since  time.Time // the condition is true
	Fires  time.Time // since when it fires; zero: it is pending
	Seq    uint64    // of its group when that has first said it; 0: it has not
	Muted  string    // the silence that keeps it from being told
}

// Telling is what one receiver knows of one group.
type Telling struct {
	Key      string
	Receiver string
	Told     uint64    // the number of the group up to which it is told, or need not be
	Knows    Status    // what it has taken last; 0: nothing
	At       time.Time // when
	Seq      uint64    // of Message
	Message  Message   // that was sent last
	Asked    bool      // it has no answer yet
	Tries    int       // how often it may have arrived
	Doubt    bool      // an older message may still arrive
}

// Evaluation is the last one.
type Evaluation struct {
	N        uint64 // rises with each: a node that sees it rise knows that somebody evaluates
	At       time.Time
	Node     string
	Troubles map[string]Trouble   // of rules, by name
	Judged   map[string]bool      // rules that have had data
	Seen     map[string]Node      // nodes, as they were seen last
	Buried   map[string]time.Time // since when some of them are no more
	Claims   uint64               // that are settled
	Perhaps  bool                 // a node may have said that it cannot ask the database
	Cried    bool                 // one has
}

// Trouble is why a rule is not judged.
type Trouble struct {
	Since  time.Time
	NoData bool
	Fault  string
}

// The facts.
type (
	// Changed says that a group has another number.
	Changed struct{ Group }
	// Told says that a receiver has taken a message.
	Told struct {
		Receiver string
		Message  Message
	}
	// NotTold says that it has not, or that nobody knows.
	NotTold struct {
		Receiver string
		Message  Message
		Answer   Answer
		GivenUp  bool // it may have come twice, and is not said again
	}
	// Differ says which nodes have other rules than the leader; none: they agree again.
	Differ struct{ Nodes []string }
)
