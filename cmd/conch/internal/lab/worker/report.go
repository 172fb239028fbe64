package worker

import (
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Report is one line that a worker prints about itself for a live view. It proves nothing.
type Report struct {
	Kind  election.Kind `json:"kind"`
	At    fence.Instant `json:"at"`
	Node  string        `json:"node"`
	Epoch int64         `json:"epoch,omitempty"`
	Term  string        `json:"term,omitempty"`
	Error string        `json:"error,omitempty"`
	// Pulse only: how long each door stays open, and the counts so far.
	FencedLeft time.Duration `json:"fenced_left,omitempty"`
	ActLeft    time.Duration `json:"act_left,omitempty"`
	Rows       int64         `json:"rows,omitempty"`
	Acts       int64         `json:"acts,omitempty"`
}

// Kinds of reports beside those of the election.
const (
	Acted election.Kind = "acted" // the first row of a term is committed
	Pulse election.Kind = "pulse" // state of the worker, a few times a second
)

const (
	pulseEvery = 200 * time.Millisecond
	backlog    = 256
)

// say passes a report on without blocking: it is called by the elector's own goroutine, and a
// stuck reader must not cost the leadership.
func (n *node) say(r Report) { n.hand(n.stamped(r)) }

func (n *node) stamped(r Report) Report {
	r.At, r.Node = fence.Boottime(), n.cfg.ID
	return r
}

func (n *node) hand(r Report) {
	select {
	case n.reports <- r:
	default:
	}
}

func (n *node) fact(f election.Fact) {
	r := Report{Kind: f.Kind}
	if f.Token.Epoch != 0 {
		r.Epoch, r.Term = f.Token.Epoch, f.Token.Term.String()
	}
	if f.Err != nil {
		r.Error = f.Err.Error()
	}
	n.order.Lock()
	defer n.order.Unlock()
	n.say(r)
	if f.Kind != election.Acquired {
		return
	}
	n.begun = r.Epoch
	if n.early.Epoch == r.Epoch {
		n.hand(n.early)
	}
}

// acted reports the first row of a term, but not before the term itself is reported: the role
// starts before the elector reports the term.
func (n *node) acted(t fence.Token) {
	n.order.Lock()
	defer n.order.Unlock()
	r := n.stamped(Report{Kind: Acted, Epoch: t.Epoch, Term: t.Term.String()})
	if n.begun < t.Epoch {
		n.early = r
		return
	}
	n.hand(r)
}

// relay passes reports on, with pulses in between, until done is closed and no report is left.
func (n *node) relay(done <-chan struct{}, gate *fence.Gate) {
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	for {
		select {
		case r := <-n.reports:
			n.cfg.Report(r)
		case <-tick.C:
			n.say(Report{
				Kind: Pulse, FencedLeft: gate.Left(fence.Fenced), ActLeft: gate.Left(fence.Act),
				Rows: n.rows.Load(), Acts: n.acts.Load(),
			})
		case <-done:
			for {
				select {
				case r := <-n.reports:
					n.cfg.Report(r)
				default:
					return
				}
			}
		}
	}
}
