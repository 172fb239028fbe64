package wire

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/wirepb"
)

// Encode returns the bytes of a message. The error is ErrMalformed or ErrSize: Decode would refuse it too.
func Encode(m Message) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return Seal(m.Log, func(out *wirepb.Message) bool { return set(out, m.Body) })
}

// Seal returns the bytes of a message whose body somebody sets. It is false if there is none like that.
func Seal(log txlog.ID, set func(*wirepb.Message) bool) ([]byte, error) {
	out := &wirepb.Message{Version: Version}
	if !log.IsZero() {
		out.Log = log[:]
	}
	if !set(out) {
		return nil, Fault(ErrMalformed, "no message has such a body")
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(out)
	switch {
	case err != nil:
		return nil, Fault(ErrMalformed, "it cannot be encoded")
	case len(b) > MostMessage:
		return nil, Fault(ErrSize, "it has %d bytes", len(b))
	}
	return b, nil
}

// set reports whether there is a field for the body.
func set(out *wirepb.Message, body Body) bool {
	switch b := body.(type) {
	case Quorum:
		out.Quorum = &wirepb.Quorum{Body: b.Bytes}
	case GoalSent:
		out.Submit = &wirepb.Submit{Try: b.Try, GoalId: b.ID, Goal: b.Body, Since: b.Since}
	case GoalDone:
		out.Answered = &wirepb.Answered{Try: b.Try, Failure: Failure(b.Err)}
		if b.Err == nil {
			out.Answered.Index, out.Answered.Result, out.Answered.Fault = b.Answer.Index, b.Answer.Result, b.Answer.Fault
			if !b.Answer.Hash.IsZero() {
				out.Answered.Hash = b.Answer.Hash[:]
			}
		}
	case Confirm:
		out.Confirm = &wirepb.Confirm{Serial: b.Serial}
	case Confirmed:
		out.Confirmed = &wirepb.Confirmed{Serial: b.Serial, Failure: Failure(b.Err)}
		if b.Err == nil {
			out.Confirmed.Index = b.Index
		}
	case follower.Pull:
		out.Pull = &wirepb.Pull{Serial: b.Serial, From: b.From, Upto: b.Upto, Known: b.Known, Change: b.Change}
	case follower.History:
		out.Answer = answer(b)
	case follower.Want:
		out.Want = &wirepb.Want{At: b.At[:], Piece: b.Piece}
	case follower.Piece:
		out.Piece = &wirepb.Piece{At: b.At[:], Piece: b.Want.Piece, Body: b.Bytes}
	case Admit:
		out.Admit = &wirepb.Admit{Store: b.Store, Key: b.Key[:]}
	case Twin:
		out.Twin = &wirepb.Twin{Store: b.Store, Asks: b.Asks}
	default:
		return false
	}
	return true
}

func waited(d time.Duration) uint32 { return uint32(min(max(d, 0), mostWaited).Milliseconds()) }

func answer(a follower.History) *wirepb.Answer {
	out := &wirepb.Answer{Serial: a.Serial, Records: raw(a.Records), Waited: waited(a.Waited)}
	for _, h := range a.Heads {
		out.Heads = append(out.Heads, h.Encode())
	}
	for _, b := range a.Bridges {
		out.Bridges = append(out.Bridges, &wirepb.Bridge{Records: raw(b.Records), Head: b.Head.Encode()})
	}
	if o := a.Offer; o != nil {
		out.Offer = &wirepb.Offer{Head: o.Head.Encode(), Size: o.Size}
		for _, sum := range o.Sums {
			out.Offer.Sums = append(out.Offer.Sums, sum[:]...)
		}
	}
	return out
}

func raw(records []txlog.Record) (all [][]byte) {
	for _, r := range records {
		all = append(all, r.Raw())
	}
	return all
}

// Failure is how an error is said; nil if there is none.
func Failure(err error) *wirepb.Failure {
	if err == nil {
		return nil
	}
	out := &wirepb.Failure{Code: codeUnknown, Text: Cut(err.Error())}
	for code, kind := range codes {
		if code > 0 && errors.Is(err, kind) {
			out.Code = uint32(code)
		}
	}
	if not, is := errors.AsType[txlog.NotLeaderError](err); is {
		out.Leader, out.Term = not.Leader, not.Term
	}
	return out
}

// Cut makes a text one that a message takes.
func Cut(why string) string {
	why = strings.ToValidUTF8(why, "?")
	for len(why) > mostWhy {
		_, size := utf8.DecodeLastRuneInString(why)
		why = why[:len(why)-size]
	}
	return why
}
