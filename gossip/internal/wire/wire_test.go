package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/gossip/internal/wire/internal/wirepb"
	"github.com/conchhq/conch/internal/prototest"
)

// Each limit is kept by Encode and by Decode, and each fault has its error.
func TestLimits(t *testing.T) {
	t.Parallel()
	with := func(change func(*Said)) Parcel {
		s := goldenSaid()
		change(&s)
		return Parcel{Said: []Said{s}}
	}
	for name, c := range map[string]struct {
		parcel Parcel
		want   error
	}{
		"a body that is too large":        {with(func(s *Said) { s.Body = make([]byte, MostBody+1) }), ErrSize},
		"the largest body":                {with(func(s *Said) { s.Body = make([]byte, MostBody) }), nil},
		"a signature that is too long":    {with(func(s *Said) { s.Signature = make([]byte, MostSignature+1) }), ErrSize},
		"a namespace that is too long":    {with(func(s *Said) { s.Namespace = strings.Repeat("n", MostName+1) }), ErrSize},
		"a topic that is too long":        {with(func(s *Said) { s.Topic = strings.Repeat("n", MostName+1) }), ErrSize},
		"a topic that is no text":         {with(func(s *Said) { s.Topic = "\xff" }), ErrMalformed},
		"an age below zero":               {with(func(s *Said) { s.Age = -1 }), ErrAge},
		"an age above all":                {with(func(s *Said) { s.Age = MostAge + 1 }), ErrAge},
		"too many statements":             {Parcel{Said: make([]Said, MostSaid+1)}, ErrSize},
		"too many marks":                  {Parcel{Marks: make([]Mark, MostMarks+1)}, ErrSize},
		"as many marks as there may be":   {Parcel{Marks: make([]Mark, MostMarks)}, nil},
		"too many wants":                  {Parcel{Wants: make([]Name, MostMarks+1)}, ErrSize},
		"nothing":                         {Parcel{}, nil},
		"all that one may send in a word": {Parcel{Said: []Said{goldenSaid(), goldenSaid()}, Opening: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Encode(c.parcel); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("Encode says %v, want %v", err, c.want)
			}
			b, err := proto.Marshal(raw(c.parcel))
			if err != nil {
				return // a text that is none cannot be sent at all
			}
			p, err := Decode(b)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("Decode says %v, want %v", err, c.want)
			}
			if c.want == nil && !reflect.DeepEqual(p, c.parcel) {
				t.Errorf("read as %+v", p)
			}
		})
	}
}

// raw makes the generated struct, whatever limits the parcel breaks.
func raw(p Parcel) *wirepb.Parcel {
	out := &wirepb.Parcel{Version: Version, Opening: p.Opening}
	for _, s := range p.Said {
		out.Said = append(out.Said, &wirepb.Said{
			Subject: s.Subject[:], Incarnation: s.Incarnation, Sequence: s.Sequence, Namespace: s.Namespace, Topic: s.Topic,
			Body: s.Body, Signature: s.Signature, Age: s.Age,
		})
	}
	for _, m := range p.Marks {
		out.Marks = append(out.Marks, &wirepb.Mark{Name: m.Name[:], Incarnation: m.Incarnation, Sequence: m.Sequence})
	}
	for _, n := range p.Wants {
		out.Wants = append(out.Wants, n[:]...)
	}
	return out
}

// What is no parcel is refused by its own error, and before memory is taken for it.
func TestBadBytes(t *testing.T) {
	t.Parallel()
	encode := func(p *wirepb.Parcel) []byte {
		b, err := proto.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"nothing":            {nil, ErrMalformed},
		"no version":         {encode(&wirepb.Parcel{Opening: true}), ErrMalformed},
		"a newer version":    {encode(&wirepb.Parcel{Version: Version + 1}), ErrVersion},
		"a short subject":    {encode(&wirepb.Parcel{Version: 1, Said: []*wirepb.Said{{Subject: []byte{1}}}}), ErrMalformed},
		"a short name":       {encode(&wirepb.Parcel{Version: 1, Marks: []*wirepb.Mark{{Name: []byte{1}}}}), ErrMalformed},
		"a part of a want":   {encode(&wirepb.Parcel{Version: 1, Wants: []byte{1}}), ErrMalformed},
		"cut off":            {encode(raw(goldenParcel()))[:40], ErrMalformed},
		"noise":              {bytes.Repeat([]byte{0xff}, 64), ErrMalformed},
		"more than a parcel": {make([]byte, MostParcel+1), ErrSize},
		"a bomb of items":    {append([]byte{8, 1}, bytes.Repeat([]byte{saidField<<3 | 2, 0}, MostSaid+1)...), ErrSize},
	} {
		if p, err := Decode(c.in); !errors.Is(err, c.want) || !reflect.DeepEqual(p, Parcel{}) {
			t.Errorf("%s: got %+v, %v; want %v", name, p, err, c.want)
		}
	}
}

// What a subject signs tells every field apart: two statements that differ never have the same bytes to sign.
func TestEveryFieldIsSigned(t *testing.T) {
	t.Parallel()
	base := goldenSaid()
	for name, change := range map[string]func(*Statement){
		"subject":     func(s *Statement) { s.Subject[31]++ },
		"incarnation": func(s *Statement) { s.Incarnation++ },
		"sequence":    func(s *Statement) { s.Sequence++ },
		"namespace":   func(s *Statement) { s.Namespace, s.Topic = s.Namespace+"f", s.Topic[1:] },
		"topic":       func(s *Statement) { s.Topic, s.Body = s.Topic+"o", []byte("n") },
		"body":        func(s *Statement) { s.Body = []byte("off") },
	} {
		other := base.Statement
		change(&other)
		if bytes.Equal(other.Signed(), base.Signed()) {
			t.Errorf("another %s is signed by the same bytes", name)
		}
	}
}

// A heartbeat with a reign above the last, or of another form, is refused.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	h, top := goldenHeartbeat(), goldenHeartbeat()
	h.Reign, top.Top = MostReign+1, MostReign+1
	for name, c := range map[string]struct {
		body []byte
		want error
	}{
		"the reign": {h.Body(), ErrReign}, "the highest reign": {top.Body(), ErrReign}, "nothing": {nil, ErrMalformed}, "a vote": {goldenVote().Body(), ErrMalformed},
		"flags":    {append([]byte{heartbeatKind, 8}, make([]byte, 24)...), ErrMalformed},
		"the host": {Heartbeat{Host: strings.Repeat("h", MostName+1)}.Body(), ErrSize},
	} {
		if got, err := ReadHeartbeat(c.body); !errors.Is(err, c.want) || got != (Heartbeat{}) {
			t.Errorf("%s: got %+v, %v; want %v", name, got, err, c.want)
		}
	}
	v := goldenVote()
	v.Age = MostAge + 1
	if _, err := ReadVote(v.Body()); !errors.Is(err, ErrAge) {
		t.Errorf("a vote's age: %v", err)
	}
	if _, err := ReadVote(goldenHeartbeat().Body()); !errors.Is(err, ErrMalformed) {
		t.Errorf("a heartbeat as a vote: %v", err)
	}
}

// Any bytes are refused or read, and what is read can be sent: make fuzz.
func FuzzDecode(f *testing.F) {
	b, err := Encode(goldenParcel())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{8, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := Decode(in)
		if err != nil {
			return
		}
		out, err := Encode(p)
		if err != nil {
			t.Fatalf("%+v was read and cannot be sent: %v", p, err)
		}
		if again, err := Decode(out); err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("%+v is read again as %+v, %v", p, again, err)
		}
	})
}

// FuzzBodies: any body is refused or read, and what is read has the bytes that were read.
func FuzzBodies(f *testing.F) {
	f.Add(goldenHeartbeat().Body())
	f.Add(goldenVote().Body())
	f.Fuzz(func(t *testing.T, in []byte) {
		if h, err := ReadHeartbeat(in); err == nil && !bytes.Equal(h.Body(), in) {
			t.Errorf("%x is read as %+v", in, h)
		}
		if v, err := ReadVote(in); err == nil && !bytes.Equal(v.Body(), in) {
			t.Errorf("%x is read as %+v", in, v)
		}
	})
}

var update = flag.Bool("update", false, "write the bytes of testdata/golden anew")

func counting(from byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = from + byte(i)
	}
	return b
}

func subject(from byte) (s Subject) {
	copy(s[:], counting(from, len(s)))
	return s
}

func goldenHeartbeat() Heartbeat {
	return Heartbeat{Reign: 7, Top: 8, Seniority: 9, Leads: true, Stands: true, Wide: true, Host: "host-1"}
}

func goldenVote() Vote { return Vote{Leader: subject(5), Sequence: 3, Age: 2} }

func goldenSaid() Said {
	return Said{
		Statement: Statement{
			Subject: subject(1), Incarnation: 2, Sequence: 3, Namespace: "site", Topic: "flags", Body: []byte("on"),
		},
		Signature: counting(100, 64), Age: 4,
	}
}

func goldenParcel() Parcel {
	return Parcel{
		Opening: true, Said: []Said{goldenSaid()}, Marks: []Mark{{Name: Name(counting(7, 16)), Incarnation: 1, Sequence: 2}},
		Wants: []Name{Name(counting(9, 16))},
	}
}

// The format does not change by accident: nodes of different releases talk to each other, and what a subject has signed
// stays signed. A diff of these files is a change of the format; gossip.proto says which are allowed.
func TestTheFormatNeverChanges(t *testing.T) {
	t.Parallel()
	parcel, err := Encode(goldenParcel())
	if err != nil {
		t.Fatal(err)
	}
	said := goldenSaid()
	name := said.Key().Name()
	files := map[string][]byte{
		"parcel": parcel, "heartbeat": goldenHeartbeat().Body(), "vote": goldenVote().Body(), "signed": said.Signed(), "name": name[:],
	}
	for file, got := range files {
		path := filepath.Join("testdata", "golden", file+".hex")
		if *update {
			if err := os.WriteFile(path, []byte(hex.EncodeToString(got)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := hex.DecodeString(strings.TrimSpace(string(text))); !bytes.Equal(got, want) {
			t.Errorf("%s is\n%x\nwant\n%x", file, got, want)
		}
	}
	if p, err := Decode(parcel); err != nil || !reflect.DeepEqual(p, goldenParcel()) {
		t.Errorf("the parcel is read as %+v, %v", p, err)
	}
	if h, err := ReadHeartbeat(files["heartbeat"]); err != nil || h != goldenHeartbeat() {
		t.Errorf("the heartbeat is read as %+v, %v", h, err)
	}
	if v, err := ReadVote(files["vote"]); err != nil || v != goldenVote() {
		t.Errorf("the vote is read as %+v, %v", v, err)
	}
}

func TestTheCodeIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	prototest.Same(t, "gossip.proto", wirepb.File_gossip_proto)
}
