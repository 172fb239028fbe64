package majority

import "github.com/conchhq/conch/txlog"

// Input is what the machine is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that a round has passed. It comes after the messages that wait to be read.
	Tick struct{}
	// Received is a message. The transport has proven from which node it is.
	Received struct {
		From  string
		Bytes []byte // must not be changed
	}
	// Campaign asks for a term. It does nothing while this member knows of a leader.
	Campaign struct{}
	// Append asks that a record be the next one.
	Append struct{ Record txlog.Record }
	// Confirm asks up to where a read must have come.
	Confirm struct{ Read uint64 }
	// Suggested names the member that is to campaign first when the leader is lost; empty: nobody. It is a hint.
	Suggested struct{ Name string }
	// Reached says that this node has stored all records up to where the last Output.Behind has said, having verified them. At is
	// the place of its own record there.
	Reached struct{ At txlog.Position }
	// Known names the members as of a verified record that the authority has not stored yet: messages of new ones are taken.
	// It is forgotten when the authority has come to the record's index.
	Known struct {
		Index   uint64
		Members []txlog.Member
		Before  []txlog.Member // who they were before: as long as the change goes on they decide too. Empty: not known
	}
	// GiveUp ends the machine, of a leader whose memory is wrong: a new one is made from the store. What this one has proposed
	// and knows of no majority to have stored is dropped there, if nobody counts on it. Nothing else comes of the step.
	GiveUp struct{}
	// Batch is several inputs that came together. What is to be kept of all is kept at once.
	Batch []Input
)

func (Tick) input()      {}
func (Received) input()  {}
func (Campaign) input()  {}
func (Append) input()    {}
func (Confirm) input()   {}
func (Suggested) input() {}
func (Reached) input()   {}
func (Known) input()     {}
func (GiveUp) input()    {}
func (Batch) input()     {}
