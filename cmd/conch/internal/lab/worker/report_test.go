package worker

import (
	"testing"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// A reader would take the first row of an unreported term for another term's, and wait for it
// for ever.
func TestATermBeginsBeforeItsFirstRow(t *testing.T) {
	t.Parallel()
	n := &node{reports: make(chan Report, backlog)}
	one, two := fence.Token{Epoch: 1}, fence.Token{Epoch: 2}
	n.fact(election.Fact{Kind: election.Acquired, Token: one})
	n.acted(one)
	n.fact(election.Fact{Kind: election.Lost, Token: one})
	n.acted(two) // the elector has not reported this term yet
	n.fact(election.Fact{Kind: election.Acquired, Token: two})
	n.fact(election.Fact{Kind: election.Entered, Token: two})
	close(n.reports)
	want := []Report{
		{Kind: election.Acquired, Epoch: 1}, {Kind: Acted, Epoch: 1}, {Kind: election.Lost, Epoch: 1},
		{Kind: election.Acquired, Epoch: 2}, {Kind: Acted, Epoch: 2}, {Kind: election.Entered, Epoch: 2},
	}
	for i := 0; ; i++ {
		r, more := <-n.reports
		if !more {
			if i != len(want) {
				t.Errorf("got %d reports, want %d", i, len(want))
			}
			return
		}
		if i >= len(want) || r.Kind != want[i].Kind || r.Epoch != want[i].Epoch || r.At == 0 {
			t.Errorf("report %d is %+v, want one of %+v", i, r, want)
		}
	}
}
