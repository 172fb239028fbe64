package wire

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
	"github.com/conchhq/conch/sequencer/ledger"
)

// A release that adds a field anywhere is understood: the field is ignored.
func TestAFieldMoreIsIgnored(t *testing.T) {
	t.Parallel()
	for seed := range seeds() / 10 {
		for _, body := range bodies {
			m := random(seed).message(body)
			p := &wirepb.Envelope{}
			if err := proto.Unmarshal(encoded(t, m), p); err != nil {
				t.Fatal(err)
			}
			grow(p.ProtoReflect())
			in, err := proto.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Decode(in); err != nil || !reflect.DeepEqual(got, m) {
				t.Fatalf("seed %d, %v: got %s, %v", seed, m, dump(got), err)
			}
		}
	}
	b := counting().beat()
	p := &wirepb.Beat{}
	in, err := EncodeBeat(b)
	if err != nil || proto.Unmarshal(in, p) != nil {
		t.Fatal(err)
	}
	grow(p.ProtoReflect())
	if in, err = proto.Marshal(p); err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeBeat(in); err != nil || !reflect.DeepEqual(got, b) {
		t.Fatalf("got %+v, %v", got, err)
	}
}

// grow adds a number and a text that nobody knows to a message and to all its parts.
func grow(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				grow(v.List().Get(i).Message())
			}
		default:
			grow(v.Message())
		}
		return true
	})
	more := protowire.AppendVarint(protowire.AppendTag(nil, 2001, protowire.VarintType), 7)
	m.SetUnknown(protowire.AppendString(protowire.AppendTag(more, 2002, protowire.BytesType), "of a later release"))
}

// A reason that a later release has is still one: what it is the reason of was not carried out.
func TestAReasonMoreIsAFailure(t *testing.T) {
	t.Parallel()
	for _, number := range []wirepb.Why{wirepb.Why(whys), 256, 1 << 30, -1} {
		head := &wirepb.Head{Contract: "0xc", Incarnation: make([]byte, 16), Number: 1}
		in, err := proto.Marshal(&wirepb.Envelope{Version: 1, Head: head, Body: &wirepb.Envelope_Rejected{Rejected: &wirepb.Rejected{Why: number}}})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := Decode(in); err != nil || !reflect.DeepEqual(m.Body, Rejected{Why: Failed}) {
			t.Errorf("the reason %d is read as %s, %v", number, dump(m), err)
		}
	}
}

// What the rules of a domain say of themselves may have any length, and be no text: the answer arrives all the same.
func TestATextIsCut(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"short":                                        "short",
		strings.Repeat("a", MostText):                  strings.Repeat("a", MostText),
		strings.Repeat("a", MostText) + "b":            strings.Repeat("a", MostText),
		strings.Repeat("a", MostText-1) + "é":          strings.Repeat("a", MostText-1),
		"\xff\xfeno text":                              "?no text",
		strings.Repeat("\xffa", MostText) + "\xf0\x9f": strings.Repeat("?a", MostText/2),
	} {
		m := Message{Contract: "0xc", Request: RequestID{Number: 1}, Body: Endorsed{Verdicts: []Verdict{{Why: Failed, Text: sent}}}}
		in := encoded(t, m)
		got, err := Decode(in)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Body.(Endorsed).Verdicts[0].Text; text != want || !utf8.ValidString(text) || len(in) > Size(m) {
			t.Errorf("%d bytes arrive as %q, want %q; %d bytes, and Size says %d", len(sent), text, want, len(in), Size(m))
		}
	}
}

// Every attempt that keeps the limits can be sent: alone, it fits in any message that has attempts.
func TestEveryAttemptFits(t *testing.T) {
	t.Parallel()
	w := Whole{Attempt: counting().message(Attempts{}).Body.(Attempts).Attempts[0].Attempt}
	w.Payload = make([]byte, MostPayload)
	w.Outputs = slicesOf(11, domain.Secret{Data: make([]byte, MostData)})
	if w.Size() > MostAttempt || w.Size()+MostData < MostAttempt {
		t.Fatalf("the attempt has %d bytes, want nearly %d", w.Size(), MostAttempt)
	}
	signed := make([]byte, MostSignature)
	proven := Dispatch{Whole: w, Grant: ledger.Grant{Coordinator: "c", Signature: signed}, Endorsements: slicesOf(MostSigned, ledger.Endorsement{Signature: signed})}
	for _, body := range []Body{
		Attempts{Attempts: []Whole{w}}, Handover{Entries: []Dispatch{proven}}, Endorse{Attempts: []Whole{w}, Upstream: []Whole{w}},
		Assembled{Results: []Result{{Whole: w}}},
	} {
		m := Message{Contract: strings.Repeat("c", MostContract), Request: RequestID{Number: 1}, Body: body}
		if in := encoded(t, m); !Fits(m) || len(in) > Size(m) {
			t.Errorf("%v: %d bytes, Size says %d", m, len(in), Size(m))
		}
	}
}

// batch is an answer with as many attempts as a coordinator asks for at once, each of the size of a note's transfer.
func batch() Message {
	var b Assembled
	for i := range uint64(64) {
		own := ledger.Sequence{Lineage: 1 << 60, Counter: i}
		b.Results = append(b.Results, Result{
			Sequence: own,
			Whole: Whole{
				Attempt: ledger.Attempt{
					Intent: ledger.Intent{Owner: ledger.Account(bytes.Repeat([]byte{7}, 32)), Sequence: own},
					Inputs: make([]ledger.StateID, 2), Reads: make([]ledger.StateID, 1), Outputs: make([]ledger.Hash, 2), Data: make([]byte, 32),
				},
				Payload: make([]byte, 200),
				Outputs: []domain.Secret{{Data: make([]byte, 100)}, {Data: make([]byte, 100)}},
			},
		})
	}
	return Message{Contract: "0xc0ffee", Height: 7, Request: RequestID{Number: 9}, Body: b}
}

func BenchmarkAssembled(b *testing.B) {
	m := batch()
	in := encoded(b, m)
	perAttempt := func(b *testing.B) { b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(64*b.N), "µs/attempt") }
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Encode(m); err != nil {
				b.Fatal(err)
			}
		}
		perAttempt(b)
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			if _, err := Decode(in); err != nil {
				b.Fatal(err)
			}
		}
		perAttempt(b)
	})
}

// Any bytes are refused or read, and what is read can be sent: make fuzz.
func FuzzDecode(f *testing.F) {
	_, files := goldens(f)
	for _, in := range files {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) { examine(t, in) })
}

func FuzzDecodeBeat(f *testing.F) {
	_, files := goldens(f)
	f.Add(files["beat"])
	f.Fuzz(func(t *testing.T, in []byte) { examineBeat(t, in) })
}
