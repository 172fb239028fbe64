package wire

import (
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
	"github.com/conchhq/conch/sequencer/ledger"
)

// One method for each kind of body, as in encode_body.go. items makes the Go values of a list and calls a function to fill each. Here only the
// form is judged, such as the length of a hash: the first fault stays in d.err, and reading goes on. Decode then looks at d.err, and has the
// checker judge what was read, as it judges what is sent.

// body returns the body. A message whose body is of a kind that this node does not know, Decode has refused before.
func (d *decoder) body(p *wirepb.Envelope) Body {
	switch b := p.Body.(type) {
	case *wirepb.Envelope_Delegate:
		return d.delegate(b.Delegate)
	case *wirepb.Envelope_Accepted:
		return Accepted{}
	case *wirepb.Envelope_Assemble:
		return d.assemble(b.Assemble)
	case *wirepb.Envelope_Assembled:
		return Assembled{Results: items(b.Assembled.Results, d.result)}
	case *wirepb.Envelope_AskGrant:
		return AskGrant{By: d.owner(b.AskGrant.By), Items: items(b.AskGrant.Items, d.grantStep)}
	case *wirepb.Envelope_Granted:
		return Granted{Items: items(b.Granted.Items, d.grant)}
	case *wirepb.Envelope_Dispatched:
		return Dispatched{Items: items(b.Dispatched.Items, d.handed)}
	case *wirepb.Envelope_Noted:
		return Noted{}
	case *wirepb.Envelope_Returned:
		r := b.Returned
		return Returned{Items: items(r.Items, d.step), Why: reason(r.Why), Better: d.owner(r.Better)}
	case *wirepb.Envelope_AskList:
		return AskList{}
	case *wirepb.Envelope_List:
		return List{Sequences: d.sequences(b.List.Sequences)}
	case *wirepb.Envelope_Rejected:
		return Rejected{Why: reason(b.Rejected.Why), Text: d.text(b.Rejected.Text)}
	default:
		return d.members(p)
	}
}

// members reads what the members of a contract tell each other.
func (d *decoder) members(p *wirepb.Envelope) Body {
	switch b := p.Body.(type) {
	case *wirepb.Envelope_Endorse:
		e := b.Endorse
		return Endorse{Range: ranking.Range(e.Range), Attempts: items(e.Attempts, d.whole), Upstream: items(e.Upstream, d.whole)}
	case *wirepb.Envelope_Endorsed:
		return Endorsed{Verdicts: items(b.Endorsed.Verdicts, d.verdict)}
	case *wirepb.Envelope_AskHandover:
		return AskHandover{Range: ranking.Range(b.AskHandover.Range)}
	case *wirepb.Envelope_Handover:
		return Handover{Entries: items(b.Handover.Entries, d.dispatch)}
	case *wirepb.Envelope_AskAttempts:
		return AskAttempts{Assembled: namesOf[ledger.Hash](d, b.AskAttempts.Assembled)}
	case *wirepb.Envelope_Attempts:
		return Attempts{Attempts: items(b.Attempts.Attempts, d.whole)}
	}
	return nil
}

func (d *decoder) delegate(p *wirepb.Delegate) Delegate {
	out := Delegate{Range: ranking.Range(p.Range)}
	d.hash(&out.Delegation, p.Delegation)
	for _, a := range p.Avoid {
		out.Avoid = append(out.Avoid, d.owner(a))
	}
	out.Intents = items(p.Intents, func(to *Offer, p *wirepb.Offer) {
		to.Sequence = d.sequence(p.Sequence)
		d.hash(&to.Payload, p.Payload)
	})
	return out
}

func (d *decoder) assemble(p *wirepb.Assemble) Assemble {
	x := p.GetContext()
	return Assemble{
		Items: items(p.Items, d.step), Withheld: namesOf[ledger.StateID](d, p.Withheld),
		Context: Context{
			Base: x.GetBase(), Version: x.GetVersion(), Locked: namesOf[ledger.StateID](d, x.GetLocked()),
			Created: items(x.GetCreated(), d.state), Gone: namesOf[ledger.StateID](d, x.GetGone()),
		},
	}
}

func (d *decoder) result(to *Result, p *wirepb.Result) {
	to.Sequence, to.Why, to.NotBefore = d.sequence(p.Sequence), reason(p.Why), time.Duration(p.NotBefore)
	if p.Whole != nil {
		d.whole(&to.Whole, p.Whole)
	}
}

func (d *decoder) grantStep(to *GrantStep, p *wirepb.GrantStep) {
	to.Sequence = d.sequence(p.Sequence)
	d.hash(&to.Delegation, p.Delegation)
	d.hash(&to.Assembled, p.Assembled)
}

func (d *decoder) grant(to *GrantResult, p *wirepb.GrantResult) {
	to.Sequence, to.Why = d.sequence(p.Sequence), reason(p.Why)
	if p.Grant != nil {
		d.granted(&to.Grant, p.Grant)
	}
}

func (d *decoder) granted(to *ledger.Grant, p *wirepb.Grant) {
	to.Coordinator, to.ValidUntil, to.Signature = d.owner(p.GetCoordinator()), p.GetValidUntil(), p.GetSignature()
	d.hash(&to.Assembled, p.GetAssembled())
	d.hash(&to.Delegation, p.GetDelegation())
}

func (d *decoder) handed(to *Handed, p *wirepb.Handed) {
	to.Sequence, to.Endorsers = d.sequence(p.Sequence), p.Endorsers
	d.hash(&to.Assembled, p.Assembled)
}

func (d *decoder) dispatch(to *Dispatch, p *wirepb.Inherited) {
	d.whole(&to.Whole, p.GetWhole())
	d.granted(&to.Grant, p.GetGrant())
	to.Endorsements = items(p.Endorsements, func(to *ledger.Endorsement, p *wirepb.Endorsement) {
		to.Member, to.Signature = int(p.Member), p.Signature
	})
}

func (d *decoder) verdict(to *Verdict, p *wirepb.Verdict) {
	to.Signature, to.Why, to.Text = p.Signature, reason(p.Why), d.text(p.Text)
	d.hash(&to.Assembled, p.Assembled)
}

func (d *decoder) sequences(from []byte) []ledger.Sequence {
	if len(from)%16 != 0 {
		d.fail(ErrMalformed, "%d bytes are no sequences of 16", len(from))
		return nil
	}
	if len(from) == 0 {
		return nil
	}
	out := make([]ledger.Sequence, len(from)/16)
	for i := range out {
		out[i] = d.sequence(from[16*i : 16*i+16])
	}
	return out
}
