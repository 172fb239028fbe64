package wire

import (
	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
	"github.com/conchhq/conch/sequencer/ledger"
)

// One method for each kind of body, as in decode_body.go. It fills the generated struct: list makes those of a list and calls a function to
// fill each; sequence, account and names return bytes that lie in e.bytes, one piece for the whole message. That the body is right, the
// checker has said before (Encode).

// body sets the envelope's body.
func (e *encoder) body(out *wirepb.Envelope, body Body) {
	switch b := body.(type) {
	case Delegate:
		out.Body = &wirepb.Envelope_Delegate{Delegate: e.delegate(&b)}
	case Accepted:
		out.Body = &wirepb.Envelope_Accepted{Accepted: &wirepb.Accepted{}}
	case Assemble:
		out.Body = &wirepb.Envelope_Assemble{Assemble: e.assemble(&b)}
	case Assembled:
		out.Body = &wirepb.Envelope_Assembled{Assembled: e.assembled(&b)}
	case AskGrant:
		out.Body = &wirepb.Envelope_AskGrant{AskGrant: &wirepb.AskGrant{By: e.account(b.By), Items: list(b.Items, e.grantStep)}}
	case Granted:
		out.Body = &wirepb.Envelope_Granted{Granted: &wirepb.Granted{Items: list(b.Items, e.grant)}}
	case Dispatched:
		out.Body = &wirepb.Envelope_Dispatched{Dispatched: &wirepb.Dispatched{Items: list(b.Items, e.handed)}}
	case Noted:
		out.Body = &wirepb.Envelope_Noted{Noted: &wirepb.Noted{}}
	case Returned:
		out.Body = &wirepb.Envelope_Returned{Returned: &wirepb.Returned{Items: list(b.Items, e.step), Why: why(b.Why), Better: e.account(b.Better)}}
	case AskList:
		out.Body = &wirepb.Envelope_AskList{AskList: &wirepb.AskList{}}
	case List:
		for _, s := range b.Sequences { // one after the other, and there is nothing else in e.bytes
			e.sequence(s)
		}
		out.Body = &wirepb.Envelope_List{List: &wirepb.List{Sequences: e.bytes}}
	case Rejected:
		out.Body = &wirepb.Envelope_Rejected{Rejected: &wirepb.Rejected{Why: why(b.Why), Text: text(b.Text)}}
	default:
		e.members(out, body)
	}
}

// members sets what the members of a contract tell each other.
func (e *encoder) members(out *wirepb.Envelope, body Body) {
	switch b := body.(type) {
	case Endorse:
		out.Body = &wirepb.Envelope_Endorse{Endorse: &wirepb.Endorse{
			Range: uint64(b.Range), Attempts: e.wholes(b.Attempts), Upstream: e.wholes(b.Upstream),
		}}
	case Endorsed:
		out.Body = &wirepb.Envelope_Endorsed{Endorsed: &wirepb.Endorsed{Verdicts: list(b.Verdicts, verdict)}}
	case AskHandover:
		out.Body = &wirepb.Envelope_AskHandover{AskHandover: &wirepb.AskHandover{Range: uint64(b.Range)}}
	case Handover:
		out.Body = &wirepb.Envelope_Handover{Handover: &wirepb.Handover{Entries: list(b.Entries, e.dispatch)}}
	case AskAttempts:
		out.Body = &wirepb.Envelope_AskAttempts{AskAttempts: &wirepb.AskAttempts{Assembled: names(e, b.Assembled)}}
	case Attempts:
		out.Body = &wirepb.Envelope_Attempts{Attempts: &wirepb.Attempts{Attempts: e.wholes(b.Attempts)}}
	}
}

func (e *encoder) delegate(b *Delegate) *wirepb.Delegate {
	out := &wirepb.Delegate{Delegation: b.Delegation[:], Range: uint64(b.Range)}
	for _, a := range b.Avoid {
		out.Avoid = append(out.Avoid, e.account(a))
	}
	out.Intents = list(b.Intents, func(to *wirepb.Offer, o *Offer) {
		to.Sequence, to.Payload = e.sequence(o.Sequence), o.Payload[:]
	})
	return out
}

func (e *encoder) assemble(b *Assemble) *wirepb.Assemble {
	x := &b.Context
	return &wirepb.Assemble{
		Items: list(b.Items, e.step), Withheld: names(e, b.Withheld),
		Context: &wirepb.Context{
			Base: x.Base, Version: x.Version,
			Locked: names(e, x.Locked), Created: list(x.Created, e.state), Gone: names(e, x.Gone),
		},
	}
}

// assembled puts all attempts in one piece. A result without one leaves its place empty.
func (e *encoder) assembled(b *Assembled) *wirepb.Assembled {
	wholes, attempts := make([]wirepb.Whole, len(b.Results)), make([]wirepb.Attempt, len(b.Results))
	next := 0
	return &wirepb.Assembled{Results: list(b.Results, func(to *wirepb.Result, r *Result) {
		to.Sequence, to.Why, to.NotBefore = e.sequence(r.Sequence), why(r.Why), uint64(r.NotBefore)
		if r.Why == Done {
			to.Whole = &wholes[next]
			to.Whole.Attempt = &attempts[next]
			e.whole(to.Whole, &r.Whole)
		}
		next++
	})}
}

func (e *encoder) grantStep(to *wirepb.GrantStep, s *GrantStep) {
	to.Sequence, to.Delegation, to.Assembled = e.sequence(s.Sequence), s.Delegation[:], s.Assembled[:]
}

func (e *encoder) grant(to *wirepb.GrantResult, r *GrantResult) {
	to.Sequence, to.Why = e.sequence(r.Sequence), why(r.Why)
	if r.Why != Done {
		return
	}
	to.Grant = e.granted(&r.Grant)
}

func (e *encoder) granted(g *ledger.Grant) *wirepb.Grant {
	return &wirepb.Grant{
		Assembled: g.Assembled[:], Coordinator: e.account(g.Coordinator), Delegation: g.Delegation[:],
		ValidUntil: g.ValidUntil, Signature: g.Signature,
	}
}

func (e *encoder) handed(to *wirepb.Handed, h *Handed) {
	to.Sequence, to.Assembled, to.Endorsers = e.sequence(h.Sequence), h.Assembled[:], h.Endorsers
}

func (e *encoder) dispatch(to *wirepb.Inherited, d *Dispatch) {
	to.Whole, to.Grant = &wirepb.Whole{Attempt: &wirepb.Attempt{}}, e.granted(&d.Grant)
	e.whole(to.Whole, &d.Whole)
	to.Endorsements = list(d.Endorsements, func(to *wirepb.Endorsement, one *ledger.Endorsement) {
		to.Member, to.Signature = uint32(one.Member), one.Signature
	})
}

func verdict(to *wirepb.Verdict, v *Verdict) {
	to.Assembled, to.Signature, to.Why, to.Text = v.Assembled[:], v.Signature, why(v.Why), text(v.Text)
}
