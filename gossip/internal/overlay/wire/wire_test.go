package wire

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/conchhq/conch/gossip/internal/overlay"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var b, c = overlay.Peer{Name: "b", Address: "b.example:7946"}, overlay.Peer{Name: "c"}

// each has a message of each kind.
var each = map[string]overlay.Message{
	"hello":     overlay.Hello{Address: "a.example:7946", Incarnation: 1<<63 + 5, Holds: true},
	"subscribe": overlay.Subscribe{Number: 7},
	"welcome":   overlay.Welcome{Number: 7, Met: []overlay.Peer{b, c}},
	"forward":   overlay.Forward{Number: 8, Newcomer: b},
	"exchange":  overlay.Exchange{Number: 9, Arcs: []overlay.Peer{b, c, b}},
	"exchanged": overlay.Exchanged{Number: 9},
	"goodbye":   overlay.Goodbye{},
}

// The bytes of each kind are those of the files: a change of the format is seen.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, m := range each {
		file := filepath.Join("testdata", "golden", name)
		got, err := Encode(m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if *update {
			if err := os.WriteFile(file, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is %x, want %x (error %v)", name, got, want, err)
		}
		if back, err := Decode(want); err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%s is read as %+v (error %v), want %+v", name, back, err, m)
		}
	}
}

func widest(n int) (all []overlay.Peer) {
	for range n {
		all = append(all, overlay.Peer{Name: strings.Repeat("n", overlay.MostName), Address: strings.Repeat("a", overlay.MostAddress)})
	}
	return all
}

// The largest messages fit.
func TestTheLargestFit(t *testing.T) {
	t.Parallel()
	for _, m := range []overlay.Message{
		overlay.Exchange{Number: 1<<64 - 1, Arcs: widest(overlay.MostSample)}, overlay.Exchanged{Number: 1<<64 - 1, Arcs: widest(overlay.MostSample)},
		overlay.Welcome{Number: 1<<64 - 1, Met: widest(overlay.MostMet)},
	} {
		out, err := Encode(m)
		if err != nil || len(out) > MostBytes {
			t.Errorf("a %T has %d bytes, error %v", m, len(out), err)
		}
		if back, err := Decode(out); err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("a %T of %d bytes is not read: %v", m, len(out), err)
		}
	}
}

func field(number protowire.Number, in []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), in)
}

// What is no message, or breaks a limit, is refused with the error that says why.
func TestBadBytes(t *testing.T) {
	t.Parallel()
	version := slices.Clip(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), Version))
	newer := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), Version+1)
	name := func(s string) []byte { return field(1, []byte(s)) }
	exchange := func(n int, peer []byte) []byte { return append(version, field(20, bytes.Repeat(field(2, peer), n))...) }
	for text, test := range map[string]struct {
		in   []byte
		want error
	}{
		"nothing":                  {nil, ErrMalformed},
		"no encoding":              {[]byte{0xff, 0xff}, ErrMalformed},
		"no version":               {field(22, nil), ErrMalformed},
		"no body":                  {version, ErrMalformed},
		"a newer version":          {append(newer, field(22, nil)...), ErrVersion},
		"a kind to come":           {append(version, field(23, nil)...), ErrKind},
		"too many bytes":           {append(version, field(2000, make([]byte, MostBytes))...), ErrSize},
		"an exchange without arcs": {append(version, field(20, nil)...), ErrMalformed},
		"too many arcs":            {exchange(overlay.MostSample+1, name("x")), ErrMalformed},
		"thousands of empty arcs":  {exchange(5000, nil), ErrMalformed},
		"a name that is too long":  {exchange(1, name(strings.Repeat("x", overlay.MostName+1))), ErrMalformed},
		"a name that is no text":   {exchange(1, name("\xff")), ErrMalformed},
		"a name with a new line":   {exchange(1, name("x\n")), ErrMalformed},
		"a forward of nobody":      {append(version, field(19, nil)...), ErrMalformed},
	} {
		if m, err := Decode(test.in); m != nil || !errors.Is(err, test.want) {
			t.Errorf("%s: %+v and the error %v, want %v", text, m, err, test.want)
		}
	}
	if m, err := Decode(append(exchange(1, name("x")), field(2000, []byte("later"))...)); err != nil {
		t.Errorf("a field that is not known: %v, error %v", m, err)
	}
}

// Encode refuses what Decode would.
func TestWhatIsUnsoundIsNotSent(t *testing.T) {
	t.Parallel()
	for _, m := range []overlay.Message{
		nil, overlay.Exchange{}, overlay.Exchange{Arcs: widest(overlay.MostSample + 1)}, overlay.Welcome{Met: widest(overlay.MostMet + 1)},
		overlay.Forward{}, overlay.Hello{Incarnation: 1, Address: "\x00"}, overlay.Hello{}, overlay.Exchanged{Arcs: []overlay.Peer{{}}},
	} {
		if out, err := Encode(m); !errors.Is(err, ErrMalformed) || out != nil {
			t.Errorf("%T: %d bytes, error %v", m, len(out), err)
		}
	}
}

// Memory is taken by the length of the bytes, also if they claim thousands of parts. It counts, so it runs alone.
func TestDecodeTakesLittle(t *testing.T) { //nolint:paralleltest // AllocsPerRun refuses it
	in := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), Version)
	in = append(in, field(20, bytes.Repeat(field(2, nil), (MostBytes-20)/2))...)
	if got := testing.AllocsPerRun(10, func() { _, _ = Decode(in) }); got > float64(len(in)) {
		t.Errorf("%d bytes make it allocate %.0f times", len(in), got)
	}
}

// Any bytes are refused or read, and what is read can be sent: make fuzz.
func FuzzDecode(f *testing.F) {
	for name := range each {
		in, err := os.ReadFile(filepath.Join("testdata", "golden", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := Decode(in)
		if (m == nil) == (err == nil) {
			t.Fatalf("%v and the error %v", m, err)
		}
		if err != nil {
			for _, known := range []error{ErrMalformed, ErrSize, ErrVersion, ErrKind} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatalf("an error of no kind: %v", err)
		}
		out, err := Encode(m)
		if err != nil {
			t.Fatalf("%+v was read and cannot be sent: %v", m, err)
		}
		if back, err := Decode(out); err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("%+v is read back as %+v, error %v", m, back, err)
		}
	})
}
