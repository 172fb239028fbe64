package founding

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/internal/wirepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the bytes of testdata/golden anew")

func counting(from byte) (h txlog.Hash) {
	for i := range h {
		h[i] = from + byte(i)
	}
	return h
}

func sampleGenesis() txlog.Genesis {
	return txlog.Genesis{
		Namespace: "fleet", Machine: "kv/1", Nonce: counting(1), LeaseMS: 3000, Retention: 10_000, Scrub: 1000,
		Members: []txlog.Member{{Name: "ann", Store: 11, Key: counting(2)}, {Name: "bob", Store: 12, Key: counting(3)}},
	}
}

// samples has a message of each kind.
func samples() map[string]Message {
	id := sampleGenesis().ID()
	fails := func(kind error, text string) Message {
		return Message{id, Appointed{Serial: 7, Err: wire.FailureError{Kind: kind, Text: text}}}
	}
	return map[string]Message{
		"prepare":               {txlog.ID{}, Prepare{Serial: 7, Namespace: "fleet", Machine: "kv/1"}},
		"prepare-of-a-log":      {id, Prepare{Serial: 7, Namespace: "fleet", Machine: "kv/1"}},
		"seek":                  {txlog.ID{}, Seek{Serial: 7, Namespace: "fleet"}},
		"known":                 {id, Known{Serial: 7, Genesis: sampleGenesis()}},
		"prepared":              {txlog.ID{}, Prepared{Serial: 7, Store: 11, Key: counting(2)}},
		"prepared-not-possible": {txlog.ID{}, Prepared{Serial: 7, Why: "there is a log of this name"}},
		"begin":                 {id, Begin{Serial: 7, Genesis: sampleGenesis()}},
		"begun":                 {id, Begun{Serial: 7}},
		"appoint":               {id, Appoint{Serial: 7, Names: []string{"ann", "cay"}, Since: 1 << 40}},
		"appointed":             {id, Appointed{Serial: 7, Index: 9}},
		"appointed-members":     fails(txlog.ErrMembers, "a log cannot have these members: cay is no peer"),
		"appointed-away":        fails(txlog.ErrAway, "the members stay as they are: cay"),
		"appointed-changing":    fails(txlog.ErrChanging, "another change"),
		"appointed-changed":     fails(txlog.ErrChanged, "the members have changed"),
	}
}

// The format does not change by accident: nodes of different releases talk to each other. A diff of these files is a change of the
// format; log.proto says which are allowed. And each message is read as it was sent, by bytes that are the caller's again.
func TestTheFormatNeverChanges(t *testing.T) {
	t.Parallel()
	all := samples()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b, err := all[name].Encode()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		storytest.Golden(t, *update, filepath.Join("testdata", "golden", name+".hex"), hex.EncodeToString(b)+"\n")
		m, err := Decode(b)
		clear(b)
		if err != nil || !reflect.DeepEqual(m, all[name]) {
			t.Errorf("%s is read as %+v, %v", name, m, err)
		}
	}
}

// A message of this kind is known by its outside, so that a node that has no log can tell it from the rest; the two packages refuse each
// other's. What is no message is none of them.
func TestIs(t *testing.T) {
	t.Parallel()
	for name, m := range samples() {
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if !Is(b) || Is(b[:len(b)-1]) {
			t.Errorf("%s is founding: %v, and cut off: %v", name, Is(b), Is(b[:len(b)-1]))
		}
		if _, err := wire.Decode(b); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s is a message of the log's: %v", name, err)
		}
	}
	b, err := wire.Encode(wire.Message{Log: sampleGenesis().ID(), Body: wire.Confirm{Serial: 1}})
	if err != nil || Is(b) {
		t.Errorf("a message of the log's is founding: %v, %v", Is(b), err)
	}
	if _, err := Decode(b); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a message of the log's is read: %v", err)
	}
}

// Each limit is kept by Encode and by Decode, and each fault has its error.
func TestLimits(t *testing.T) {
	t.Parallel()
	id, long := sampleGenesis().ID(), strings.Repeat("n", limits.MostName+1)
	other := sampleGenesis()
	other.Nonce = counting(77)
	for name, c := range map[string]struct {
		message Message
		want    error
	}{
		"no body":                   {Message{Log: id}, wire.ErrMalformed},
		"a body of no message":      {Message{id, 7}, wire.ErrMalformed},
		"a log before it is made":   {Message{id, Seek{Namespace: "n"}}, wire.ErrMalformed},
		"no log":                    {Message{Body: Appoint{Names: []string{"n"}}}, wire.ErrMalformed},
		"another log's genesis":     {Message{id, Begin{Genesis: other}}, wire.ErrMalformed},
		"another one's that began":  {Message{id, Known{Genesis: other}}, wire.ErrMalformed},
		"a genesis of nobody":       {Message{id, Begin{}}, wire.ErrMalformed},
		"no namespace":              {Message{Body: Prepare{Machine: "m"}}, wire.ErrMalformed},
		"a namespace, too long":     {Message{Body: Prepare{Namespace: long, Machine: "m"}}, wire.ErrMalformed},
		"no machine":                {Message{Body: Prepare{Namespace: "n"}}, wire.ErrMalformed},
		"ten members":               {Message{id, Appoint{Names: slices.Repeat([]string{"n"}, txlog.MostMembers+1)}}, wire.ErrSize},
		"a member without a name":   {Message{id, Appoint{Names: []string{""}}}, wire.ErrMalformed},
		"a leader's name, too long": {Message{id, Appointed{Err: txlog.NotLeaderError{Leader: long}}}, wire.ErrMalformed},
	} {
		if _, err := c.message.Encode(); !errors.Is(err, c.want) {
			t.Errorf("%s: Encode says %v, want %v", name, err, c.want)
		}
		out := &wirepb.Message{Version: wire.Version}
		if !c.message.Log.IsZero() {
			out.Log = c.message.Log[:]
		}
		set(out, c.message.Body)
		b, err := proto.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := Decode(b); !errors.Is(err, c.want) || m != (Message{}) {
			t.Errorf("%s: Decode says %v, %v, want %v", name, m, err, c.want)
		}
	}
}

// What is no message is refused by its own error.
func TestBadBytes(t *testing.T) {
	t.Parallel()
	id := sampleGenesis().ID()
	encode := func(m *wirepb.Message) []byte {
		m.Log = id[:]
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"nothing":         {nil, wire.ErrMalformed},
		"noise":           {bytes.Repeat([]byte{0xff}, 64), wire.ErrMalformed},
		"too much":        {make([]byte, wire.MostMessage+1), wire.ErrSize},
		"a newer version": {encode(&wirepb.Message{Version: wire.Version + 1, Begun: &wirepb.Begun{}}), wire.ErrVersion},
		"two bodies":      {encode(&wirepb.Message{Version: wire.Version, Begun: &wirepb.Begun{}, Confirm: &wirepb.Confirm{}}), wire.ErrMalformed},
		"a short key":     {encode(&wirepb.Message{Version: wire.Version, Prepared: &wirepb.Prepared{Key: []byte{1}}}), wire.ErrMalformed},
		"no genesis":      {encode(&wirepb.Message{Version: wire.Version, Begin: &wirepb.Begin{Genesis: []byte{1}}}), wire.ErrMalformed},
	} {
		if m, err := Decode(c.in); !errors.Is(err, c.want) || m != (Message{}) {
			t.Errorf("%s: got %+v, %v; want %v", name, m, err, c.want)
		}
	}
}

// Nothing is allocated for a list that is too long. No other test runs meanwhile.
func TestMemoryIsTakenByLength(t *testing.T) {
	names := bytes.Repeat([]byte{namesField<<3 | 2, 0}, 100_000)
	in := protowire.AppendBytes(protowire.AppendTag([]byte{8, 1}, appointField, protowire.BytesType), names)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Decode(in)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, wire.ErrSize) || took > 16<<10 {
		t.Errorf("%d bytes take %d, and it says %v", len(in), took, err)
	}
}

// Bytes that are a message are read the same when they are sent on, and no bytes panic.
func FuzzDecode(f *testing.F) {
	for _, m := range samples() {
		b, err := m.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		_ = Is(in)
		m, err := Decode(in)
		if err != nil {
			if m != (Message{}) {
				t.Error("there is a message with an error")
			}
			return
		}
		b, err := m.Encode()
		if err != nil {
			t.Fatalf("%+v is not encoded: %v", m, err)
		}
		if again, err := Decode(b); err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%+v is read as %+v, %v", m, again, err)
		}
	})
}
