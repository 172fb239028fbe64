package wire

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// Encode returns the bytes of a message. The error is ErrMalformed or ErrSize: Decode would refuse the message too. A
// text for the operator is cut to MostText, and what is no text in it is replaced.
//
// The message is only read, and may not change meanwhile.
func Encode(m Message) ([]byte, error) {
	c := &checker{}
	if c.message(m); c.err != nil {
		return nil, c.err
	}
	var e encoder
	out := &wirepb.Envelope{Version: Version, Head: e.head(&m)}
	e.body(out, m.Body)
	return marshal(out)
}

// EncodeBeat returns the bytes of a beat. The error is ErrMalformed or ErrSize.
func EncodeBeat(b Beat) ([]byte, error) {
	c := &checker{}
	if c.beat(b); c.err != nil {
		return nil, c.err
	}
	return marshal(&wirepb.Beat{
		Version: Version, Incarnation: b.Incarnation[:],
		Contracts: list(b.Contracts, func(to *wirepb.Pulse, p *Pulse) {
			to.Contract, to.Height, to.Range, to.Works = p.Contract, p.Height, uint64(p.Range), p.Works
			to.Count, to.Xor = p.Digest.Count, p.Digest.XOR[:]
		}),
	})
}

// marshal writes equal messages as equal bytes.
func marshal(m proto.Message) ([]byte, error) {
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fault(ErrMalformed, "it cannot be encoded")
	}
	if len(out) > transport.MostBody {
		return nil, fault(ErrSize, "it has %d bytes, which is more than %d", len(out), transport.MostBody)
	}
	return out, nil
}

// encoder makes the generated structs of one message. They point into the message where they can; what has another form
// there lies in few large pieces, since a batch has thousands of such fields.
type encoder struct{ bytes []byte }

// cut returns what was appended since the mark. A larger piece leaves what was cut before in the smaller one.
func (e *encoder) cut(mark int) []byte { return e.bytes[mark:] }

func (e *encoder) sequence(s ledger.Sequence) []byte {
	mark, b := len(e.bytes), s.Bytes()
	e.bytes = append(e.bytes, b[:]...)
	return e.cut(mark)
}

func (e *encoder) account(a ledger.Account) []byte {
	mark := len(e.bytes)
	e.bytes = append(e.bytes, a...)
	return e.cut(mark)
}

// names writes names one after the other.
func names[T ~[32]byte](e *encoder, all []T) []byte {
	mark := len(e.bytes)
	for i := range all {
		e.bytes = append(e.bytes, all[i][:]...)
	}
	return e.cut(mark)
}

// list makes the generated structs of a list in one piece.
func list[P, T any](all []T, fill func(to *P, from *T)) []*P {
	if len(all) == 0 {
		return nil
	}
	out, piece := make([]*P, len(all)), make([]P, len(all))
	for i := range all {
		out[i] = &piece[i]
		fill(out[i], &all[i])
	}
	return out
}

func (e *encoder) head(m *Message) *wirepb.Head {
	head := &wirepb.Head{Contract: m.Contract, Height: m.Height, Wait: uint64(m.Wait)}
	if m.Request.Number > 0 {
		head.Incarnation, head.Number = m.Request.Incarnation[:], m.Request.Number
	}
	return head
}

func (e *encoder) wholes(all []Whole) []*wirepb.Whole {
	attempts := make([]wirepb.Attempt, len(all))
	next := 0
	return list(all, func(to *wirepb.Whole, w *Whole) {
		to.Attempt = &attempts[next]
		next++
		e.whole(to, w)
	})
}

// whole fills an attempt, whose struct is there already.
func (e *encoder) whole(to *wirepb.Whole, w *Whole) {
	to.Payload, to.Outputs = w.Payload, list(w.Outputs, secret)
	at, a := to.Attempt, &w.Attempt
	at.Owner, at.Sequence, at.Payload = e.account(a.Owner), e.sequence(a.Sequence), a.Payload[:]
	at.Inputs, at.Reads, at.Outputs, at.Data = names(e, a.Inputs), names(e, a.Reads), names(e, a.Outputs), a.Data
}

func secret(to *wirepb.Secret, s *domain.Secret) { to.Salt, to.Data = s.Salt[:], s.Data }

func (e *encoder) step(to *wirepb.Step, s *Step) {
	to.Sequence, to.Delegation = e.sequence(s.Sequence), s.Delegation[:]
}

func (e *encoder) state(to *wirepb.State, s *domain.State) {
	to.Id, to.Owner, to.Sequence, to.Assembled = s.ID[:], e.account(s.Creator.Owner), e.sequence(s.Creator.Sequence), s.Assembled[:]
	to.Salt, to.Data = s.Salt[:], s.Data
}

func why(w Why) wirepb.Why { return wirepb.Why(w) }

// text returns what is sent of a text for the operator.
func text(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= MostText {
		return s
	}
	end := MostText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
