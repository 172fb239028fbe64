package wire

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// examine decodes bytes and judges the answer: a known error with no body, or a message that is sent again as it is.
func examine(t testing.TB, in []byte) {
	t.Helper()
	m, err := Decode(in)
	if err != nil {
		if !known(err) || m.Body != nil {
			t.Fatalf("%x: got %v and %v", in, m, err)
		}
		return
	}
	again, err := Encode(m)
	if err != nil {
		t.Fatalf("%x: decoded, and not encoded: %v", in, err)
	}
	if same, err := Decode(again); err != nil || !reflect.DeepEqual(same, m) {
		t.Fatalf("%x: decoded as\n%s\nand again as\n%s, %v", in, dump(m), dump(same), err)
	}
}

func examineBeat(t testing.TB, in []byte) {
	t.Helper()
	b, err := DecodeBeat(in)
	if err != nil {
		if !known(err) || b.Contracts != nil {
			t.Fatalf("%x: got %v and %v", in, b, err)
		}
		return
	}
	if _, err := EncodeBeat(b); err != nil {
		t.Fatalf("%x: decoded, and not encoded: %v", in, err)
	}
}

// Whatever happens to its bytes, a message is refused or read, and what is read can be sent.
func TestEveryMutationIsSurvived(t *testing.T) {
	t.Parallel()
	_, files := goldens(t)
	for name, in := range files {
		try := examine
		if name == "beat" {
			try = examineBeat
		}
		for i := range in {
			if !runtest.Nightly() && i%4 != 0 && i > 64 {
				continue // by day each byte of the head, and every fourth of the rest
			}
			try(t, in[:i])
			for bit := range 8 {
				if changed := bytes.Clone(in); runtest.Nightly() || bit == i%8 {
					changed[i] ^= 1 << bit
					try(t, changed)
				}
			}
			for _, b := range []byte{0, 0x7f, 0xff} {
				changed := bytes.Clone(in)
				changed[i] = b
				try(t, changed)
			}
			try(t, append(bytes.Clone(in[:i]), in[min(i+1, len(in)):]...)) // a byte less
		}
	}
}

// I10: a request that cannot be read is answered if its beginning can be read.
func TestABadBodyLeavesTheHead(t *testing.T) {
	t.Parallel()
	whole := counting().message(Delegate{})
	head := whole
	head.Body = nil
	envelope := func() []byte { return encoded(t, whole) }
	field := func(number protowire.Number, body []byte) []byte {
		only := &wirepb.Envelope{}
		if err := proto.Unmarshal(envelope(), only); err != nil {
			t.Fatal(err)
		}
		only.Body = nil
		out, err := proto.Marshal(only)
		if err != nil {
			t.Fatal(err)
		}
		return protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), body)
	}
	version := func(v uint32, in []byte) []byte {
		return append([]byte{8, byte(v)}, in[2:]...)
	}
	unproven, err := proto.Marshal(&wirepb.Handover{Entries: []*wirepb.Inherited{{Whole: &wirepb.Whole{Attempt: &wirepb.Attempt{
		Owner: []byte("o"), Sequence: make([]byte, 16), Payload: make([]byte, 32),
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"a handover of version 1":      {version(1, field(30, unproven)), ErrMalformed},
		"a body that is noise":         {field(16, []byte{0xff, 0xff, 0xff}), ErrMalformed},
		"a hash of 31 bytes":           {field(16, append([]byte{10, 31}, make([]byte, 31)...)), ErrMalformed},
		"a hash of 33 bytes":           {field(16, append([]byte{10, 33}, make([]byte, 33)...)), ErrMalformed},
		"no hash":                      {field(16, nil), ErrMalformed},
		"half a name":                  {field(31, []byte{10, 1, 7}), ErrMalformed},
		"a sequence of 17 bytes":       {field(24, append(append([]byte{10, 53, 10, 17}, make([]byte, 17)...), append([]byte{18, 32}, make([]byte, 32)...)...)), ErrMalformed},
		"a long text":                  {field(33, append([]byte{8, 1, 18, 0x81, 8}, make([]byte, MostText+1)...)), ErrSize},
		"half a sequence":              {field(28, []byte{10, 1, 7}), ErrMalformed},
		"a refusal that is none":       {field(33, nil), ErrMalformed},
		"no body":                      {field(16, nil)[:len(field(16, nil))-3], ErrMalformed},
		"a body that comes in 2100":    {field(34, []byte("news")), ErrKind},
		"two bodies of a kind":         {append(field(17, nil), 0x8a, 1, 0), ErrMalformed},
		"more parts than bytes":        {field(19, bytes.Repeat([]byte{10, 0}, 1000)), ErrMalformed},
		"too many items":               {field(16, bytes.Repeat(append([]byte{26, 40}, make([]byte, 40)...), MostItems+1)), ErrSize},
		"no version":                   {version(0, envelope()), ErrMalformed},
		"a newer version":              {version(Version+1, envelope()), ErrVersion},
		"a newer version, other bytes": {version(Version+1, field(16, []byte{0xff})), ErrVersion},
	} {
		got, err := Decode(c.in)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if dump(got) != dump(head) {
			t.Errorf("%s: got %s, want what is before the body: %s", name, dump(got), dump(head))
		}
	}
}

// A head that is wrong is none: nobody answers a request whose name is not known.
func TestABadHeadIsNoHead(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*wirepb.Head){
		"no contract":             func(h *wirepb.Head) { h.Contract = "" },
		"a long contract":         func(h *wirepb.Head) { h.Contract = strings.Repeat("c", MostContract+1) },
		"an incarnation too long": func(h *wirepb.Head) { h.Incarnation = make([]byte, 17) },
		"no incarnation":          func(h *wirepb.Head) { h.Incarnation = nil },
		"the number 0":            func(h *wirepb.Head) { h.Number = 0 },
		"a wait of a day":         func(h *wirepb.Head) { h.Wait = uint64(24 * MostWait) },
		"a wait of 500 years":     func(h *wirepb.Head) { h.Wait = 1<<64 - 1 },
	} {
		p := &wirepb.Envelope{}
		if err := proto.Unmarshal(encoded(t, counting().message(AskList{})), p); err != nil {
			t.Fatal(err)
		}
		spoil(p.Head)
		in, err := proto.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := Decode(in); !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrSize) || m.Contract != "" || m.Request != (RequestID{}) {
			t.Errorf("%s: got %s, %v; want an error and nothing", name, dump(m), err)
		}
	}
	if m, err := Decode([]byte{8, Version + 1, 18, 1, 8}); !errors.Is(err, ErrMalformed) || m.Contract != "" {
		t.Errorf("noise of a newer version: %v, %v", m, err)
	}
	if m, err := Decode([]byte{8, Version + 1}); !errors.Is(err, ErrVersion) || m.Contract != "" {
		t.Errorf("a newer version without a head: %v, %v", m, err)
	}
	if m, err := Decode(make([]byte, transport.MostBody+1)); !errors.Is(err, ErrSize) || m.Contract != "" {
		t.Errorf("a body that is too large: %v, %v", m, err)
	}
}

func TestABadBeat(t *testing.T) {
	t.Parallel()
	in, err := EncodeBeat(counting().beat())
	if err != nil {
		t.Fatal(err)
	}
	large := protowire.AppendBytes(protowire.AppendTag(bytes.Clone(in), 99, protowire.BytesType), make([]byte, transport.MostBody))
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"no version":      {append([]byte{8, 0}, in[2:]...), ErrMalformed},
		"a newer version": {append([]byte{8, Version + 1}, in[2:]...), ErrVersion},
		"too large":       {large, ErrSize},
		"noise":           {[]byte{0xff}, ErrMalformed},
		"nothing":         {nil, ErrMalformed},
	} {
		if b, err := DecodeBeat(c.in); !errors.Is(err, c.want) || b.Contracts != nil {
			t.Errorf("%s: got %+v, %v; want %v", name, b, err, c.want)
		}
	}
}

// Nothing is nil, whether its field is there or not: equal messages are equal values.
func TestEmptyBytesAreNil(t *testing.T) {
	t.Parallel()
	m := Message{Contract: "0xc", Request: RequestID{Number: 1}, Body: Attempts{Attempts: []Whole{{
		Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: "o"}}, Outputs: make([]domain.Secret, 1),
	}}}}
	p := &wirepb.Envelope{}
	if err := proto.Unmarshal(encoded(t, m), p); err != nil {
		t.Fatal(err)
	}
	// Fields that are written although they are empty, as no generated code does.
	w := p.GetAttempts().Attempts[0]
	w.ProtoReflect().SetUnknown([]byte{2<<3 | 2, 0})
	w.Attempt.ProtoReflect().SetUnknown([]byte{4<<3 | 2, 0, 5<<3 | 2, 0, 6<<3 | 2, 0, 7<<3 | 2, 0})
	w.Outputs[0].ProtoReflect().SetUnknown([]byte{2<<3 | 2, 0})
	in, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(in); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("got %s, %v; want %s", dump(got), err, dump(m))
	}
}

// Few bytes never take much memory. This test is not parallel: it counts what the process allocates.
func TestBytesTakeMemoryByTheirLength(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	part := func(number protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), body)
	}
	front, err := proto.Marshal(&wirepb.Envelope{Version: 1, Head: &wirepb.Head{Contract: "0xc", Number: 1, Incarnation: make([]byte, 16)}})
	if err != nil {
		t.Fatal(err)
	}
	empty := func(number protowire.Number) []byte { return bytes.Repeat(part(number, nil), 1<<19) }
	for name, body := range map[string][]byte{
		"results":           part(19, empty(1)),
		"results in pieces": bytes.Repeat(part(19, bytes.Repeat(part(1, nil), 1000)), 500),
		"secrets in pieces": part(32, bytes.Repeat(part(1, bytes.Repeat(part(3, nil), 100)), 10_000)),
		"secrets":           part(32, part(1, empty(3))),
		"accounts":          part(16, empty(3)),
		"parts of parts":    part(19, bytes.Repeat(part(1, part(4, part(1, nil))), 100_000)),
		"heads":             empty(2),
		"pulses":            empty(3),
		"unknown fields":    bytes.Repeat([]byte{0xf8, 0x3f, 1}, 1<<19),
		"real results":      part(19, bytes.Repeat(part(1, part(1, make([]byte, 16))), MostItems)),
	} {
		in, decode := append(bytes.Clone(front), body...), func(in []byte) error { _, err := Decode(in); return err }
		if name == "pulses" {
			in, decode = body, func(in []byte) error { _, err := DecodeBeat(in); return err }
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decode(in)
		runtime.ReadMemStats(&after)
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(40*len(in)); took > most || err == nil {
			t.Errorf("%s: %d bytes took %d of memory, %v", name, len(in), took, err)
		}
	}
}
