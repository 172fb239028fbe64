package liar

import (
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Lie is what a member says instead of messages of some kinds.
type Lie struct {
	Name      string
	Withholds bool // what was granted to the member it submits never

	about []wire.Kind
	says  func(m *member, to string, body wire.Body) []wire.Body // nil: nothing
}

// About returns the kinds of the messages that the lie is about. A lie about nothing is none.
func (l Lie) About() (kinds []string) {
	for _, k := range l.about {
		kinds = append(kinds, k.String())
	}
	return kinds
}

// Silent says nothing of some kinds.
func Silent(name string, kinds ...wire.Kind) Lie { return Lie{Name: name, about: kinds} }

// Lies are what a member can do with each message. The first one is none, so that it is seen what a lie costs.
func Lies() []Lie {
	return []Lie{
		{Name: "nothing"},
		Silent("neither gives grants nor asks for them", wire.KindGranted, wire.KindAskGrant),
		Silent("asks for no attempt", wire.KindAssemble),
		Silent("asks for no endorsement", wire.KindEndorse, wire.KindEndorsed),
		Silent("hands nothing over", wire.KindHandover),
		Silent("assembles nothing", wire.KindAssembled),
		Silent("has no contents, and notes nothing", wire.KindAttempts, wire.KindNoted),
		{Name: "submits nothing", Withholds: true, about: []wire.Kind{wire.KindDispatched}, says: asItIs},
		{Name: "lists nothing, and beats so", about: []wire.Kind{wire.KindList}, says: listsNothing},
		{Name: "refuses everything", about: []wire.Kind{wire.KindAccepted, wire.KindEndorsed, wire.KindGranted}, says: refuses},
		{Name: "signs wrongly", about: []wire.Kind{wire.KindEndorsed, wire.KindGranted}, says: signsWrongly},
		{Name: "returns what it has accepted", about: []wire.Kind{wire.KindAccepted}, says: returns},
		{Name: "delegates what nobody has asked for", about: []wire.Kind{wire.KindDelegate}, says: delegatesMore},
		{Name: "says that states are in use, and that there are others", about: []wire.Kind{wire.KindAssemble}, says: inventsStates},
		{Name: "has others endorse what nobody assembled", about: []wire.Kind{wire.KindEndorse}, says: endorsesNonsense},
		{Name: "hands over what it has made up", about: []wire.Kind{wire.KindHandover}, says: handsOver},
		{Name: "asks for handovers all the time", about: []wire.Kind{wire.KindEndorsed}, says: asksForHandovers},
	}
}

// Named returns a lie.
func Named(name string) (l Lie, known bool) {
	all := Lies()
	i := slices.IndexFunc(all, func(l Lie) bool { return l.Name == name })
	if i < 0 {
		return Lie{}, false
	}
	return all[i], true
}

func asItIs(_ *member, _ string, b wire.Body) []wire.Body { return []wire.Body{b} }

func refuses(_ *member, _ string, b wire.Body) []wire.Body {
	switch b := b.(type) {
	case wire.Accepted:
		return []wire.Body{wire.Rejected{Why: wire.Busy}}
	case wire.Endorsed:
		for i := range b.Verdicts {
			b.Verdicts[i].Signature, b.Verdicts[i].Why = nil, wire.Refused
		}
	case wire.Granted:
		for i := range b.Items {
			b.Items[i].Grant, b.Items[i].Why = ledger.Grant{}, wire.Unknown
		}
	}
	return []wire.Body{b}
}

func signsWrongly(_ *member, _ string, b wire.Body) []wire.Body {
	switch b := b.(type) {
	case wire.Endorsed:
		for i := range b.Verdicts {
			b.Verdicts[i].Signature = spoilt(b.Verdicts[i].Signature)
		}
	case wire.Granted:
		for i := range b.Items {
			b.Items[i].Grant.Signature = spoilt(b.Items[i].Grant.Signature)
		}
	}
	return []wire.Body{b}
}

func spoilt(signature []byte) []byte {
	out := slices.Clone(signature)
	if len(out) > 0 {
		out[0] ^= 1
	}
	return out
}

// listsNothing has none of what it has. Its heartbeats say so too, or nobody would ask.
func listsNothing(*member, string, wire.Body) []wire.Body { return []wire.Body{wire.List{}} }

// returns accepts what it is handed, and gives it back at once, as what the members have refused.
func returns(m *member, to string, b wire.Body) []wire.Body {
	return []wire.Body{b, wire.Returned{Items: m.delegated[to], Why: wire.Refused}}
}

func delegatesMore(m *member, _ string, b wire.Body) []wire.Body {
	if d, is := b.(wire.Delegate); is {
		for range mostSeen {
			d.Intents = append(d.Intents, wire.Offer{Sequence: m.sequence()})
		}
		b = d
	}
	return []wire.Body{b}
}

// inventsStates says that all that the member knows of is in use, and that there are as many states with the same contents,
// which nobody makes.
func inventsStates(m *member, _ string, b wire.Body) []wire.Body {
	if a, is := b.(wire.Assemble); is {
		a.Context.Locked = append(a.Context.Locked, m.states()...)
		for _, w := range m.seen {
			for _, secret := range w.Outputs {
				n := m.sequence().Bytes()
				s := domain.State{Creator: ledger.Intent{Owner: m.cfg.Self}, Secret: secret}
				copy(s.ID[:], n[:])
				a.Context.Created = append(a.Context.Created, s)
			}
		}
		b = a
	}
	return []wire.Body{b}
}

// endorsesNonsense puts made-up attempts in the place of right ones.
func endorsesNonsense(m *member, _ string, b wire.Body) []wire.Body {
	if e, is := b.(wire.Endorse); is {
		for i := range e.Attempts {
			if in := e.Attempts[i].Attempt.Inputs; len(in) > 0 {
				e.Attempts[i] = m.forged(in[0]).Whole
			}
		}
		b = e
	}
	return []wire.Body{b}
}

// handsOver hands over a made-up attempt for each state, granted to the member by itself, and endorsed by nobody.
func handsOver(m *member, _ string, _ wire.Body) []wire.Body {
	var h wire.Handover
	for _, id := range m.states() {
		h.Entries = append(h.Entries, m.forged(id))
	}
	return []wire.Body{h}
}

// asksForHandovers asks with each answer, as if the member came before the coordinator in this range and in the next one.
func asksForHandovers(m *member, _ string, b wire.Body) []wire.Body {
	return []wire.Body{b, wire.AskHandover{Range: m.next - min(1, m.next)}, wire.AskHandover{Range: m.next}}
}
