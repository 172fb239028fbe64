package electorate

import (
	"fmt"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// standing is what a process was told about its term.
type standing struct {
	session int  // the process's number of the session that minted it
	deposed bool // a heartbeat was answered Over
	givenUp bool // its drain timed out
}

// learn records what the machine is about to be told.
func (p *process) learn(in core.Input) {
	switch in := in.(type) {
	case core.Opened:
		p.sessions++
	case core.Failed:
		if in.Lost {
			p.sessions++
		}
	case core.Parted:
		for i, f := range p.saying {
			if in.Answers[i].Outcome != mint.Locked && !p.r.breaks("splits-farewells") {
				delete(p.unsaid, f.Token.Scope)
			}
		}
	case core.Beaten:
		for i, answer := range in.Answers {
			if t := p.term(p.pulses[i].Token); t != nil && answer == mint.Over {
				t.standing.deposed = true
			}
		}
	}
}

// term returns the tenure of a token if it is the latest here, else nil.
func (p *process) term(token fence.Token) *tenure {
	if rn := p.runners[token.Scope]; rn != nil && rn.term != nil && rn.term.token.Same(token) {
		return rn.term
	}
	return nil
}

// tamper adds what the machine must not do, if a rule is broken.
func (p *process) tamper(actions []core.Action) []core.Action {
	for _, a := range actions {
		switch a := a.(type) {
		case core.Release:
			for i, f := range a.Farewells {
				t := p.term(f.Token)
				a.Farewells[i].Released = f.Released || p.r.breaks("deposed-promises-nothing") && t != nil && t.standing.deposed
			}
		case core.Beat:
			for _, scope := range p.r.scopes {
				t := p.runners[scope].term
				if p.r.breaks("given-up-for-good") && t != nil && !t.over && (t.standing.givenUp || t.shut && t.standing.session != p.sessions) {
					actions = append(actions, core.Prolong{Scope: scope, Deadline: p.now().Add(p.runners[scope].lease / 2)})
				}
			}
		}
	}
	return actions
}

// judge checks the machine's actions against what it was told. The mint would refuse a wrong
// one, but must not be the only safeguard.
func (p *process) judge(actions []core.Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case core.Beat:
			p.pulses = a.Pulses
			for _, pulse := range a.Pulses {
				p.checkRenewal(pulse.Token, "renews")
			}
		case core.Try:
			p.checkBids(a.Bids)
		case core.Prolong:
			p.checkRenewal(p.runners[a.Scope].term.token, "prolongs")
		case core.Release:
			p.saying = a.Farewells
			for _, f := range a.Farewells {
				if p.r.breaks("win-drops-farewell") {
					p.unsaid[f.Token.Scope] = f
				}
				t := p.runners[f.Token.Scope].term
				switch {
				case t == nil: // opened and given up in one step
				case !t.token.Same(f.Token) && !t.shut:
					p.r.Violated(Conduct, fmt.Sprintf("%s: %s says farewell to epoch %d, although it has won epoch %d since", f.Token.Scope, p.name, f.Token.Epoch, t.token.Epoch))
				case t.token.Same(f.Token) && f.Released && t.standing.deposed:
					p.r.Violated(Conduct, fmt.Sprintf("%s: %s releases epoch %d, although it was told that it is deposed", f.Token.Scope, p.name, f.Token.Epoch))
				}
			}
		case core.Report:
			if t := p.term(a.Fact.Token); t != nil && a.Fact.Kind == core.Abandoned {
				t.standing.givenUp = true
			}
		}
	}
}

// checkBids checks that a bid's scope is registered with at least its lease. Otherwise a failover
// that forgets the term forgets its lease too. A bid over a session that has ended wins nothing: a
// failover may have forgotten what that session had registered.
func (p *process) checkBids(bids []mint.Bid) {
	for _, b := range bids {
		p.leases[b.Scope] = b.Lease
		if p.conn != nil && p.r.db.store.Alive(p.conn.key) && !p.r.db.store.Enlisted(p.conn.key, b.Scope, b.Lease) {
			p.r.Violated(Conduct, fmt.Sprintf("%s: %s bids for it with a lease of %s, for which it is not registered", b.Scope, p.name, b.Lease))
		}
	}
}

// checkRenewal checks that a term is renewed only over the session that minted it, until given up.
func (p *process) checkRenewal(token fence.Token, does string) {
	t := p.term(token)
	if t == nil { // it is not open yet, or never was
		return
	}
	switch s := t.standing; {
	case s.givenUp:
		p.r.Violated(Conduct, fmt.Sprintf("%s: %s %s epoch %d, which it has given up", token.Scope, p.name, does, token.Epoch))
	case s.session != p.sessions:
		p.r.Violated(Conduct, fmt.Sprintf("%s: %s %s epoch %d, whose session is lost", token.Scope, p.name, does, token.Epoch))
	}
}
