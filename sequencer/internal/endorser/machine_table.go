package endorser

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/sequencer/internal/wire"
)

// state is where a request stands.
type state uint8

const (
	unknown  state = iota // it was never asked, or is forgotten
	checking              // the rules look at it
	answered              // its answer is kept
	states
)

var stateNames = [states]string{"unknown", "checking", "answered"}

func (s state) String() string { return stateNames[s] }

// event is what happens to a request.
type event uint8

const (
	asked           event = iota // by a member of the committee, for a range near enough
	askedNonsense                // without attempts, with too many, or something else
	askedByStranger              // who is not in the committee
	askedTooOld
	askedTooNew  // in Strict
	askedByOther // in Strict: this node's own selection names another member
	askedTooMuch // as many requests are checked as may be
	checked      // the rules have looked at it
	lapsed       // nobody waits for its answer any more
	events
)

var eventNames = [events]string{
	"asked", "asked nonsense", "asked by a stranger", "asked for an old range", "asked for a new range", "asked by another than selected", "asked while busy",
	"checked", "lapsed",
}

func (e event) String() string { return eventNames[e] }

// cell is what a machine does with an event in a state: one of three.
type cell struct {
	do      func(m *Machine, r *request, in Input) []Action // handled
	next    []state                                         // where it may stand then
	ignored string                                          // for this reason
	refused wire.Why                                        // with this reason, and it is forgotten at once
}

// table has every pair.
var table = [states][events]cell{
	unknown: {
		asked:           {do: (*Machine).judge, next: []state{checking, answered}},
		askedNonsense:   {refused: wire.Malformed},
		askedByStranger: {refused: wire.NotMember},
		askedTooOld:     {refused: wire.TooOld},
		askedTooNew:     {refused: wire.TooNew},
		askedByOther:    {refused: wire.NotMember},
		askedTooMuch:    {refused: wire.Busy},
		checked:         {ignored: "nobody has asked for it"},
		lapsed:          {ignored: "there is nothing to forget"},
	},
	checking: {
		asked:           underWay,
		askedNonsense:   underWay,
		askedByStranger: underWay,
		askedTooOld:     underWay,
		askedTooNew:     underWay,
		askedByOther:    underWay,
		askedTooMuch:    underWay,
		checked:         {do: (*Machine).conclude, next: []state{answered}},
		lapsed:          {ignored: "the rules still look at it, and have its place"},
	},
	answered: {
		asked:           again,
		askedNonsense:   again,
		askedByStranger: again,
		askedTooOld:     again,
		askedTooNew:     again,
		askedByOther:    again,
		askedTooMuch:    again,
		checked:         {ignored: "it has its answer"},
		lapsed:          {do: (*Machine).forget, next: []state{unknown}},
	},
}

var (
	underWay = cell{ignored: "its answer is on the way"}
	again    = cell{do: (*Machine).repeat, next: []state{answered}}
)

// Diagram returns the table as a state diagram of Mermaid.
func Diagram() string {
	var w strings.Builder
	w.WriteString("stateDiagram-v2\n    [*] --> unknown\n")
	for from := range states {
		for to := range states {
			var why []string
			for e, c := range table[from] {
				switch {
				case c.refused != wire.Done && from == to:
					why = append(why, fmt.Sprintf("%s (refused as %s)", event(e), c.refused))
				case slices.Contains(c.next, to):
					why = append(why, event(e).String())
				}
			}
			if len(why) > 0 {
				fmt.Fprintf(&w, "    %s --> %s: %s\n", from, to, strings.Join(why, ", "))
			}
		}
	}
	return w.String()
}
