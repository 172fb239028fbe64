package worker

import "time"

// Input is what the machine is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that the time has come that Due has named.
	Tick struct{}
	// Extended says until when this process leads the post, if nothing more is heard.
	Extended struct{ Until time.Duration }
	// Acts says that the act door is open: all that led the post before have stopped.
	Acts struct{}
	// Woken says that there may be jobs, due from an instant on; zero: from any. It may be lost.
	Woken struct{ Since time.Time }
	// Taken is what came of a [Take].
	Taken struct {
		Jobs []Job
		Next time.Duration // when a job becomes due that comes later; 0: none does
	}
	// Seen is what came of a [Look]: all that is taken under the post.
	Seen struct{ Held []Held }
	// Told is what came of a [Tell]: attempts that a transaction holds, which are to be told again, and those that were over before.
	Told struct{ Held, Over []Key }
	// Missed says that an act had no answer. It may have been carried out.
	Missed struct {
		Act  Act
		Over bool // and none will have: the post is another's
	}
	// Ended says that a handler has ended.
	Ended struct{ End }
	// Drain says that the worker is to end: what runs may go on for a while.
	Drain struct{}
)

func (Tick) input()     {}
func (Extended) input() {}
func (Acts) input()     {}
func (Woken) input()    {}
func (Taken) input()    {}
func (Seen) input()     {}
func (Told) input()     {}
func (Missed) input()   {}
func (Ended) input()    {}
func (Drain) input()    {}

// Act is what the machine asks for: one of the types below. The first three are answered.
type Act interface{ act() }

type (
	// Take takes jobs in one transaction, which the token of the post fences. Its rows count once the commit is confirmed.
	Take struct {
		Most   int
		Since  time.Time // none is looked at that was due before
		Fenced bool      // none but those whose handlers prove their attempts: the act door is not open
		Kinds  []string  // of handlers: none of another kind; nil: all are taken
	}
	// Look reads what is taken under the post.
	Look struct{}
	// Tell ends attempts.
	Tell struct{ Ends []End }
	// Start begins the handler of a job.
	Start struct{ Job Job }
	// Stop has a handler end.
	Stop struct {
		Key
		Why Why
	}
)

func (Take) act()  {}
func (Look) act()  {}
func (Tell) act()  {}
func (Start) act() {}
func (Stop) act()  {}

// Why is why a handler has to stop.
type Why string

// The reasons.
const (
	WhyLate      Why = "the worker's post is no longer sure to be its own"
	WhyDrain     Why = "the worker ends"
	WhyOver      Why = "the attempt is over"
	WhyCancelled Why = "the job was cancelled"
)

// Outcome is what becomes of an attempt that was stopped.
func (w Why) Outcome() string {
	switch w {
	case WhyDrain:
		return Released
	case WhyCancelled:
		return Cancelled
	}
	return Lost
}
