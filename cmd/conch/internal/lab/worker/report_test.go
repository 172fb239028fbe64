package worker

import (
	"testing"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Whoever watches would take the first row of a term that it has not heard of for
// another term's, and wait for it for ever.
func TestATermBeginsBeforeItsFirstRow(t *testing.T) {
	t.Parallel()
	n := &node{reports: make(chan Report, backlog)}
	one, two := fence.Token{Epoch: 1}, fence.Token{Epoch: 2}
	n.fact(election.Fact{Kind: election.Acquired, Token: one})
	n.acted(one)
	n.fact(election.Fact{Kind: election.Lost, Token: one})
	n.acted(two) // the elector was about to say that it leads
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
				t.Errorf("%d reports, not %d", i, len(want))
			}
			return
		}
		if i >= len(want) || r.Kind != want[i].Kind || r.Epoch != want[i].Epoch || r.At == 0 {
			t.Errorf("report %d is %+v", i, r)
		}
	}
}
