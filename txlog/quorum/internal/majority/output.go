package majority

import (
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// Output is what a step asks for. The order is binding: first Persist is kept, and on the disk if it says so; then
// the messages may be sent, the facts told, and the door moved. If it cannot be kept, none of that happens, and the machine is dropped.
type Output struct {
	Persist  Persist
	Messages []Message
	Facts    []authority.Fact
	Door     *Door           // nil: as it was
	Behind   *txlog.Position // fetch the records up to there, verify and store them, and step Reached
	Refused  []Refusal
	Failed   error // ErrStopped or ErrGivenUp: the machine does nothing any more
}

// Message goes to a member. It may be lost, come twice, late, or out of order.
type Message struct {
	To    string
	Bytes []byte
	Beat  bool // it says that this member lives, and may be sent again while a step takes long
}

// Door is when effects outside of the log may be performed: from Opens until Until, on the clock of Step. The zero value
// is a shut door. Until moves on while a majority answers.
type Door struct {
	Term         uint64
	Opens, Until time.Duration
}

// Open reports whether the door is open at an instant.
func (d Door) Open(now time.Duration) bool { return d.Term != 0 && now >= d.Opens && now < d.Until }

// Refusal says that a message was left out, and whose it was.
type Refusal struct {
	From string
	Why  error
}
