package electiontest

import (
	"github.com/conchhq/conch/election"
)

// A candidate may add and withdraw scopes while its session lives, and may repeat that, since
// an answer may be lost. Terms and locks do not change.
func rollChanges(x *exercise) {
	a := x.candidate(election.Candidate{ID: "a", Lease: medium, Longest: medium, Takeover: election.Strict, Scopes: []string{"s"}})
	s := x.win(a, "s", medium).Token
	for range 2 {
		if err := a.Enlist(x.Context(), election.Roll{Add: []string{"t"}, Longest: long}); err != nil {
			x.Fatalf("enlist t: %v", err)
		}
	}
	t := x.win(a, "t", long).Token
	for range 2 {
		if err := a.Enlist(x.Context(), election.Roll{Withdraw: []string{"s"}, Longest: long}); err != nil {
			x.Fatalf("withdraw from s: %v", err)
		}
	}
	if renewed := x.beat(a, election.Pulse{Token: s}, election.Pulse{Token: t}); !renewed[0] || !renewed[1] {
		x.Errorf("renewed after the roll was changed: %v, want both terms", renewed)
	}
	b := x.open("b")
	x.want(x.bid(b, "s"), election.Held)
	x.release(a, election.Farewell{Token: s, Released: true})
	if err := a.Enlist(x.Context(), election.Roll{Add: []string{"s"}, Longest: long}); err != nil {
		x.Fatalf("enlist s again: %v", err)
	}
	x.win(a, "s", medium)
}
