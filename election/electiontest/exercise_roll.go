package electiontest

import (
	"github.com/conchhq/conch/election/mint"
)

// A candidate may add and withdraw scopes while its session lives, and may repeat that, since
// an answer may be lost. Terms and locks do not change.
func rollChanges(x *exercise) {
	a := x.candidate(mint.Candidate{ID: "a", Lease: medium, Longest: medium, Takeover: mint.Strict, Scopes: []string{"s"}})
	s := x.win(a, "s", medium).Token
	for range 2 {
		if err := a.Enlist(x.Context(), mint.Roll{Add: []string{"t"}, Longest: long}); err != nil {
			x.Fatalf("enlist t: %v", err)
		}
	}
	t := x.win(a, "t", long).Token
	for range 2 {
		if err := a.Enlist(x.Context(), mint.Roll{Withdraw: []string{"s"}, Longest: long}); err != nil {
			x.Fatalf("withdraw from s: %v", err)
		}
	}
	if renewed := x.beat(a, mint.Pulse{Token: s}, mint.Pulse{Token: t}); !renewed[0] || !renewed[1] {
		x.Errorf("renewed after the roll was changed: %v, want both terms", renewed)
	}
	b := x.open("b")
	x.want(x.bid(b, "s"), mint.Held)
	x.release(a, mint.Farewell{Token: s, Released: true})
	if err := a.Enlist(x.Context(), mint.Roll{Add: []string{"s"}, Longest: long}); err != nil {
		x.Fatalf("enlist s again: %v", err)
	}
	x.win(a, "s", medium)
}
