package wire

import (
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/wire/internal/wirepb"
)

// Decode returns the message that the bytes are. It takes whatever the network brings, and never allocates more than a
// small multiple of its length: what is in a Quorum stays bytes, which package quorum weighs before it decodes them. The error is
// ErrMalformed, ErrVersion or ErrSize; with one there is no message.
//
// Lists without items are nil. Fields that are not known are ignored. The message does not keep the bytes.
func Decode(in []byte) (Message, error) {
	if len(in) > MostMessage {
		return Message{}, fault(ErrSize, "it has %d bytes", len(in))
	}
	if err := weigh(in); err != nil {
		return Message{}, err
	}
	var read wirepb.Message
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(in, &read); err != nil {
		return Message{}, fault(ErrMalformed, "it breaks the rules of the encoding")
	}
	switch {
	case read.Version > Version:
		return Message{}, fault(ErrVersion, "%d, and this is %d", read.Version, Version)
	case read.Version == 0:
		return Message{}, fault(ErrMalformed, "there is no version")
	}
	r := reader{}
	m := Message{Log: r.hash(read.Log), Body: r.body(&read)}
	if r.err == nil {
		r.err = m.check()
	}
	if r.err != nil {
		return Message{}, named(r.err)
	}
	return m, nil
}

// named makes an error of package txlog one of this package.
func named(err error) error {
	switch {
	case errors.Is(err, ErrMalformed) || errors.Is(err, ErrSize) || errors.Is(err, ErrVersion):
		return err
	case errors.Is(err, txlog.ErrSize):
		return fault(ErrSize, "%v", err)
	case errors.Is(err, txlog.ErrVersion):
		return fault(ErrVersion, "%v", err)
	}
	return fault(ErrMalformed, "%v", err)
}

// reader keeps the first error.
type reader struct{ err error }

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// some returns nil for no bytes: whether they were sent makes no difference.
func some(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// hash reads a hash; no bytes are none.
func (r *reader) hash(b []byte) (h txlog.Hash) {
	if len(b) != 0 && len(b) != len(h) {
		r.fail(fault(ErrMalformed, "a hash of %d bytes", len(b)))
		return h
	}
	copy(h[:], b)
	return h
}

func (r *reader) head(b []byte) txlog.Head {
	h, err := txlog.DecodeHead(b)
	if err != nil {
		r.fail(err)
	}
	return h
}

func (r *reader) records(all [][]byte) (records []txlog.Record) {
	for _, b := range all {
		record, err := txlog.Own(b)
		if err != nil {
			r.fail(err)
			return nil
		}
		records = append(records, record)
	}
	return records
}

// body returns the one body that is there.
func (r *reader) body(read *wirepb.Message) (body Body) {
	bodies := 0
	take := func(is bool, read func() Body) {
		if is {
			bodies++
			body = read()
		}
	}
	take(read.Quorum != nil, func() Body { return Quorum{Bytes: some(read.Quorum.Body)} })
	take(read.Submit != nil, func() Body {
		return Submit{Try: read.Submit.Try, GoalID: read.Submit.GoalId, Goal: some(read.Submit.Goal), Since: read.Submit.Since}
	})
	take(read.Answered != nil, func() Body { return r.answered(read.Answered) })
	take(read.Confirm != nil, func() Body { return Confirm{Serial: read.Confirm.Serial} })
	take(read.Confirmed != nil, func() Body {
		return Confirmed{Serial: read.Confirmed.Serial, Index: read.Confirmed.Index, Err: failed(read.Confirmed.Failure)}
	})
	take(read.Pull != nil, func() Body {
		p := read.Pull
		return follower.Pull{Serial: p.Serial, From: p.From, Upto: p.Upto, Known: p.Known, Change: p.Change}
	})
	take(read.Answer != nil, func() Body { return r.answer(read.Answer) })
	take(read.Want != nil, func() Body { return follower.Want{At: r.hash(read.Want.At), Piece: read.Want.Piece} })
	take(read.Piece != nil, func() Body {
		return follower.Piece{Want: follower.Want{At: r.hash(read.Piece.At), Piece: read.Piece.Piece}, Bytes: some(read.Piece.Body)}
	})
	take(read.Admit != nil, func() Body { return Admit{Store: read.Admit.Store, Key: r.hash(read.Admit.Key)} })
	take(read.Twin != nil, func() Body { return Twin{Store: read.Twin.Store, Asks: read.Twin.Asks} })
	take(read.Prepare != nil, func() Body {
		return Prepare{Serial: read.Prepare.Serial, Namespace: read.Prepare.Namespace, Machine: read.Prepare.Machine}
	})
	take(read.Prepared != nil, func() Body {
		p := read.Prepared
		return Prepared{Serial: p.Serial, Store: p.Store, Key: r.hash(p.Key), Why: cut(p.Why)}
	})
	take(read.Begin != nil, func() Body { return r.begin(read.Begin) })
	take(read.Begun != nil, func() Body { return Begun{Serial: read.Begun.Serial, Why: cut(read.Begun.Why)} })
	take(read.Seek != nil, func() Body { return Seek{Serial: read.Seek.Serial, Namespace: read.Seek.Namespace} })
	take(read.Known != nil, func() Body { return r.known(read.Known) })
	take(read.Appoint != nil, func() Body {
		return Appoint{Serial: read.Appoint.Serial, Names: read.Appoint.Names, Since: read.Appoint.Since}
	})
	take(read.Appointed != nil, func() Body {
		return Appointed{Serial: read.Appointed.Serial, Index: read.Appointed.Index, Err: failed(read.Appointed.Failure)}
	})
	if bodies != 1 {
		r.fail(fault(ErrMalformed, "it has %d bodies", bodies))
	}
	return body
}

func (r *reader) answered(a *wirepb.Answered) Answered {
	out := Answered{Try: a.Try, Err: failed(a.Failure)}
	if out.Err == nil {
		out.Answer = txlog.Answer{Index: a.Index, Hash: r.hash(a.Hash), Result: some(a.Result), Fault: a.Fault}
	}
	return out
}

func (r *reader) answer(a *wirepb.Answer) follower.Answer {
	out := follower.Answer{Serial: a.Serial, Records: r.records(a.Records), Waited: min(time.Duration(a.Waited)*time.Millisecond, mostWaited)}
	for _, h := range a.Heads {
		out.Heads = append(out.Heads, r.head(h))
	}
	for _, b := range a.Bridges {
		out.Bridges = append(out.Bridges, follower.Bridge{Records: r.records(b.Records), Head: r.head(b.Head)})
	}
	if o := a.Offer; o != nil {
		out.Offer = &follower.Offer{Head: r.head(o.Head), Size: o.Size}
		if len(o.Sums)%len(txlog.Hash{}) != 0 {
			r.fail(fault(ErrMalformed, "%d bytes are no sums of pieces", len(o.Sums)))
		}
		for b := o.Sums; len(b) >= len(txlog.Hash{}); b = b[len(txlog.Hash{}):] {
			out.Offer.Sums = append(out.Offer.Sums, txlog.Hash(b[:len(txlog.Hash{})]))
		}
	}
	return out
}

func (r *reader) begin(b *wirepb.Begin) Begin {
	g, err := txlog.DecodeGenesis(b.Genesis)
	if err != nil {
		r.fail(err)
	}
	return Begin{Serial: b.Serial, Genesis: g}
}

func (r *reader) known(k *wirepb.Known) Known {
	g, err := txlog.DecodeGenesis(k.Genesis)
	if err != nil {
		r.fail(err)
	}
	return Known{Serial: k.Serial, Genesis: g}
}

func failed(f *wirepb.Failure) error {
	switch {
	case f == nil:
		return nil
	case f.Code == 0 || int64(f.Code) >= int64(len(codes)):
		return FailureError{Kind: txlog.ErrUnknown, Text: cut(f.Text)}
	case codes[f.Code] == txlog.ErrNotLeader: //nolint:errorlint // a table of sentinels
		return txlog.NotLeaderError{Leader: f.Leader, Term: f.Term}
	}
	return FailureError{Kind: codes[f.Code], Text: cut(f.Text)}
}
