package wire

import (
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/wirepb"
)

// Decode returns the message that the bytes are. It takes whatever the network brings, and never allocates more than a
// small multiple of its length: what is in a Quorum stays bytes, which package majority weighs before it decodes them. The error is
// ErrMalformed, ErrVersion or ErrSize; with one there is no message.
//
// Lists without items are nil. Fields that are not known are ignored. The message does not keep the bytes.
func Decode(in []byte) (Message, error) {
	read, log, err := Open(in, weigh)
	if err != nil {
		return Message{}, err
	}
	r := reader{}
	m := Message{Log: log, Body: r.body(read)}
	if r.err == nil {
		r.err = m.check()
	}
	if r.err != nil {
		return Message{}, Named(r.err)
	}
	return m, nil
}

// firstBody is the number of the first field that is a body.
const firstBody = 3

// Open returns what the bytes are, with one body that may be anything, and the log that it names. Weigh counts the items of lists before they
// are allocated.
func Open(in []byte, weigh func([]byte) error) (read *wirepb.Message, log txlog.ID, err error) {
	if len(in) > MostMessage {
		return nil, log, Fault(ErrSize, "it has %d bytes", len(in))
	}
	if err := weigh(in); err != nil {
		return nil, log, err
	}
	read = &wirepb.Message{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(in, read); err != nil {
		return nil, log, Fault(ErrMalformed, "it breaks the rules of the encoding")
	}
	bodies := 0
	read.ProtoReflect().Range(func(of protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if of.Number() >= firstBody {
			bodies++
		}
		return true
	})
	switch {
	case read.Version > Version:
		return nil, log, Fault(ErrVersion, "%d, and this is %d", read.Version, Version)
	case read.Version == 0:
		return nil, log, Fault(ErrMalformed, "there is no version")
	case bodies != 1:
		return nil, log, Fault(ErrMalformed, "it has %d bodies", bodies)
	}
	log, err = ReadHash(read.Log)
	return read, log, err
}

// Named makes an error of package txlog one of this package.
func Named(err error) error {
	switch {
	case errors.Is(err, ErrMalformed) || errors.Is(err, ErrSize) || errors.Is(err, ErrVersion):
		return err
	case errors.Is(err, txlog.ErrSize):
		return Fault(ErrSize, "%v", err)
	case errors.Is(err, txlog.ErrVersion):
		return Fault(ErrVersion, "%v", err)
	}
	return Fault(ErrMalformed, "%v", err)
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

// ReadHash reads a hash; no bytes are none.
func ReadHash(b []byte) (h txlog.Hash, err error) {
	if len(b) != 0 && len(b) != len(h) {
		return h, Fault(ErrMalformed, "a hash of %d bytes", len(b))
	}
	copy(h[:], b)
	return h, nil
}

func (r *reader) hash(b []byte) txlog.Hash {
	h, err := ReadHash(b)
	if err != nil {
		r.fail(err)
	}
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
func (r *reader) body(read *wirepb.Message) Body {
	switch {
	case read.Quorum != nil:
		return Quorum{Bytes: some(read.Quorum.Body)}
	case read.Submit != nil:
		return GoalSent{Try: read.Submit.Try, Goal: txlog.Goal{ID: read.Submit.GoalId, Body: some(read.Submit.Goal), Since: read.Submit.Since}}
	case read.Answered != nil:
		return r.answered(read.Answered)
	case read.Confirm != nil:
		return Confirm{Serial: read.Confirm.Serial}
	case read.Confirmed != nil:
		return Confirmed{Serial: read.Confirmed.Serial, Index: read.Confirmed.Index, Err: Failed(read.Confirmed.Failure)}
	case read.Pull != nil:
		p := read.Pull
		return follower.Pull{Serial: p.Serial, From: p.From, Upto: p.Upto, Known: p.Known, Change: p.Change}
	case read.Answer != nil:
		return r.answer(read.Answer)
	case read.Want != nil:
		return follower.Want{At: r.hash(read.Want.At), Piece: read.Want.Piece}
	case read.Piece != nil:
		return follower.Piece{Want: follower.Want{At: r.hash(read.Piece.At), Piece: read.Piece.Piece}, Bytes: some(read.Piece.Body)}
	case read.Admit != nil:
		return Admit{Store: read.Admit.Store, Key: r.hash(read.Admit.Key)}
	case read.Twin != nil:
		return Twin{Store: read.Twin.Store, Asks: read.Twin.Asks}
	}
	r.fail(Fault(ErrMalformed, "it is about how a log begins"))
	return nil
}

func (r *reader) answered(a *wirepb.Answered) GoalDone {
	out := GoalDone{Try: a.Try, Err: Failed(a.Failure)}
	if out.Err == nil {
		out.Answer = txlog.Answer{Index: a.Index, Hash: r.hash(a.Hash), Result: some(a.Result), Fault: a.Fault}
	}
	return out
}

func (r *reader) answer(a *wirepb.Answer) follower.History {
	out := follower.History{Serial: a.Serial, Records: r.records(a.Records), Waited: min(time.Duration(a.Waited)*time.Millisecond, mostWaited)}
	for _, h := range a.Heads {
		out.Heads = append(out.Heads, r.head(h))
	}
	for _, b := range a.Bridges {
		out.Bridges = append(out.Bridges, follower.Bridge{Records: r.records(b.Records), Head: r.head(b.Head)})
	}
	if o := a.Offer; o != nil {
		out.Offer = &follower.Offer{Head: r.head(o.Head), Size: o.Size}
		if len(o.Sums)%len(txlog.Hash{}) != 0 {
			r.fail(Fault(ErrMalformed, "%d bytes are no sums of pieces", len(o.Sums)))
		}
		for b := o.Sums; len(b) >= len(txlog.Hash{}); b = b[len(txlog.Hash{}):] {
			out.Offer.Sums = append(out.Offer.Sums, txlog.Hash(b[:len(txlog.Hash{})]))
		}
	}
	return out
}

// Failed returns the error that was said.
func Failed(f *wirepb.Failure) error {
	switch {
	case f == nil:
		return nil
	case f.Code == 0 || int64(f.Code) >= int64(len(codes)):
		return FailureError{Kind: txlog.ErrUnknown, Text: Cut(f.Text)}
	case codes[f.Code] == txlog.ErrNotLeader: //nolint:errorlint // a table of sentinels
		return txlog.NotLeaderError{Leader: f.Leader, Term: f.Term}
	}
	return FailureError{Kind: codes[f.Code], Text: Cut(f.Text)}
}
