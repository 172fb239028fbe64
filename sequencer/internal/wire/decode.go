package wire

import (
	"encoding/binary"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// Decode returns the message that the bytes are. It takes whatever the network brings, and never allocates more than a
// small multiple of its length. The error is ErrMalformed, ErrVersion, ErrKind or ErrSize.
//
// With an error the message has no body. It has the rest if that could be read and is right; then Request names what has
// to be answered by a Rejected (I10), unless it is zero.
//
// Lists without items are nil. Fields that are not known are ignored, and a reason that is not known arrives as Failed.
// The message does not keep the bytes.
func Decode(in []byte) (Message, error) {
	m, err := front(in)
	if err != nil {
		return m, err
	}
	if err := envelopeShape().weigh(in); err != nil {
		return m, err
	}
	var p wirepb.Envelope
	if err := unmarshal(in, &p); err != nil {
		return m, err
	}
	if p.Body == nil {
		return m, stranger(in)
	}
	d, full := &decoder{}, m
	if full.Body = d.body(&p); d.err == nil {
		d.message(full)
	}
	if d.err != nil {
		return m, d.err
	}
	return full, nil
}

// DecodeBeat returns the beat that the bytes are, under the same rules as Decode. With an error it is empty.
func DecodeBeat(in []byte) (Beat, error) {
	if len(in) > transport.MostBody {
		return Beat{}, fault(ErrSize, "it has %d bytes", len(in))
	}
	if err := beatShape().weigh(in); err != nil {
		return Beat{}, err
	}
	var p wirepb.Beat
	if err := unmarshal(in, &p); err != nil {
		return Beat{}, err
	}
	d, b := &decoder{}, Beat{}
	d.version(p.Version, Version)
	d.fixed("an incarnation", b.Incarnation[:], p.Incarnation)
	b.Contracts = items(p.Contracts, func(to *Pulse, p *wirepb.Pulse) {
		*to = Pulse{Contract: p.Contract, Height: p.Height, Range: ranking.Range(p.Range), Works: p.Works, Digest: Digest{Count: p.Count}}
		d.fixed("a digest", to.Digest.XOR[:], p.Xor)
	})
	if d.beat(b); d.err != nil {
		return Beat{}, d.err
	}
	return b, nil
}

func unmarshal(in []byte, p proto.Message) error {
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(in, p); err != nil {
		return fault(ErrMalformed, "it breaks the rules of the encoding")
	}
	return nil
}

// front reads a message without its body. With ErrVersion it returns what it understands.
func front(in []byte) (Message, error) {
	if len(in) > transport.MostBody {
		return Message{}, fault(ErrSize, "it has %d bytes", len(in))
	}
	var p wirepb.Front
	if err := unmarshal(in, &p); err != nil {
		return Message{}, err
	}
	d, head := &decoder{}, p.GetHead()
	m := Message{Contract: head.GetContract(), Height: head.GetHeight(), Wait: time.Duration(head.GetWait())}
	if m.Request.Number = head.GetNumber(); m.Request.Number > 0 || len(head.GetIncarnation()) > 0 {
		d.fixed("an incarnation", m.Request.Incarnation[:], head.GetIncarnation())
	}
	if d.head(m); d.err != nil {
		m = Message{}
	}
	if p.Version > Version { // whatever else is wrong with it
		return m, fault(ErrVersion, "%d, and this is %d", p.Version, Version)
	}
	d.version(p.Version, Version)
	return m, d.err
}

// stranger says what is wrong with a message in which no body was found.
func stranger(in []byte) error {
	for len(in) > 0 {
		number, _, n := protowire.ConsumeField(in)
		if n < 0 {
			break
		}
		if number >= firstBody && number <= lastBody {
			return fault(ErrKind, "number %d", number)
		}
		in = in[n:]
	}
	return fault(ErrMalformed, "there is no body")
}

// The fields of an envelope that are bodies, those to come too.
const (
	firstBody = 16
	lastBody  = 1000
)

// decoder makes messages of generated structs, which it takes apart: what is bytes in both is not copied again.
type decoder struct {
	checker

	account ledger.Account // the last one: a message has mostly one
}

func (d *decoder) version(v, newest uint32) {
	if v > newest {
		d.fail(ErrVersion, "%d, and this is %d", v, newest)
	} else if v == 0 {
		d.fail(ErrMalformed, "there is no version")
	}
}

// fixed reads bytes whose number is known.
func (d *decoder) fixed(noun string, to, from []byte) {
	if copy(to, from) != len(to) || len(from) != len(to) {
		d.fail(ErrMalformed, "%s has %d bytes instead of %d", noun, len(from), len(to))
	}
}

func (d *decoder) hash(to *ledger.Hash, from []byte) { d.fixed("a hash", to[:], from) }

func (d *decoder) sequence(from []byte) ledger.Sequence {
	if len(from) != 16 {
		d.fail(ErrMalformed, "a sequence has %d bytes instead of 16", len(from))
		return ledger.Sequence{}
	}
	return ledger.Sequence{Lineage: binary.BigEndian.Uint64(from), Counter: binary.BigEndian.Uint64(from[8:])}
}

func (d *decoder) owner(from []byte) ledger.Account {
	if string(from) != string(d.account) {
		d.account = ledger.Account(from)
	}
	return d.account
}

// namesOf reads names that are one after the other.
func namesOf[T ~[32]byte](d *decoder, from []byte) []T {
	if len(from)%32 != 0 {
		d.fail(ErrMalformed, "%d bytes are no names of 32", len(from))
		return nil
	}
	if len(from) == 0 {
		return nil
	}
	out := make([]T, len(from)/32)
	for i := range out {
		copy(out[i][:], from[32*i:])
	}
	return out
}

// items makes the items of a list.
func items[T, P any](all []*P, fill func(to *T, from *P)) []T {
	if len(all) == 0 {
		return nil
	}
	out := make([]T, len(all))
	for i := range all {
		fill(&out[i], all[i])
	}
	return out
}

func reason(w wirepb.Why) Why {
	if w < 0 || w >= wirepb.Why(whys) {
		return Failed
	}
	return Why(w)
}

func (d *decoder) text(s string) string {
	d.most("a text", len(s), MostText)
	return s
}

func (d *decoder) whole(to *Whole, p *wirepb.Whole) {
	to.Payload, to.Outputs = p.GetPayload(), items(p.GetOutputs(), d.secret)
	d.ledgerAttempt(&to.Attempt, p.GetAttempt())
}

func (d *decoder) secret(to *domain.Secret, p *wirepb.Secret) {
	d.fixed("a salt", to.Salt[:], p.Salt)
	to.Data = p.Data
}

func (d *decoder) ledgerAttempt(to *ledger.Attempt, p *wirepb.Attempt) {
	to.Owner, to.Sequence = d.owner(p.GetOwner()), d.sequence(p.GetSequence())
	d.hash(&to.Payload, p.GetPayload())
	to.Inputs, to.Reads = namesOf[ledger.StateID](d, p.GetInputs()), namesOf[ledger.StateID](d, p.GetReads())
	to.Outputs, to.Data = namesOf[ledger.Hash](d, p.GetOutputs()), p.GetData()
}

func (d *decoder) step(to *Step, p *wirepb.Step) {
	to.Sequence = d.sequence(p.Sequence)
	d.hash(&to.Delegation, p.Delegation)
}

func (d *decoder) state(to *domain.State, p *wirepb.State) {
	d.fixed("a state's name", to.ID[:], p.Id)
	to.Creator = ledger.Intent{Owner: d.owner(p.Owner), Sequence: d.sequence(p.Sequence)}
	d.hash(&to.Assembled, p.Assembled)
	d.fixed("a salt", to.Salt[:], p.Salt)
	to.Data = p.Data
}
