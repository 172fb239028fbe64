package metadata_test

import (
	"encoding/hex"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/substrate/internal/runtimetest"
	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/scale"
)

func decode(t testing.TB, m runtimetest.Runtime) *metadata.Runtime {
	t.Helper()
	rt, err := metadata.Decode(m.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func TestEachVersionSaysTheSame(t *testing.T) {
	t.Parallel()
	for _, version := range []byte{14, 15, 16} {
		rt := decode(t, runtimetest.Small(version))
		call, err := rt.Call("System", "remark")
		if err != nil || call.Index != [2]byte{0, 1} || len(call.Arguments) != 1 || call.Arguments[0].Name != "remark" {
			t.Errorf("version %d: %+v %v", version, call, err)
		}
		if again, err := rt.CallAt([2]byte{0, 1}); err != nil || again.Name != "remark" {
			t.Errorf("version %d: %+v %v", version, again, err)
		}
		if e := rt.Extensions(); len(e) != 8 || e[5].Name != "CheckNonce" {
			t.Errorf("version %d: %+v", version, e) // of version 0, whatever else version 16 lists (Z15)
		}
		if got := rt.ErrorAt(0, 3); got != "System.TooLong" {
			t.Errorf("version %d: %q", version, got)
		}
		if c, err := rt.Constant("System", "Most"); err != nil || len(c.Value) != 4 {
			t.Errorf("version %d: %+v %v", version, c, err)
		}
		for _, err := range []error{
			second(rt.Call("System", "gone")), second(rt.Call("Gone", "remark")), second(rt.CallAt([2]byte{9, 9})),
			second(rt.Storage("System", "Gone")), second(rt.Constant("Gone", "Most")),
		} {
			if !errors.Is(err, metadata.ErrUnknown) {
				t.Errorf("version %d: %v", version, err)
			}
		}
	}
}

// What the small tests have for nothing.
var (
	empty = runtimetest.List()
	yes   = []byte{1}
)

func second[V any](_ V, err error) error { return err }

// Z13: the bytes are read by the runtime that made them; which one that is, its caller knows.
func TestEventsAreReadWithTheirExtrinsic(t *testing.T) {
	t.Parallel()
	rt := decode(t, runtimetest.Small(15))
	b := runtimetest.Join(runtimetest.List(
		runtimetest.Join([]byte{0, 7, 0, 0, 0, 0, 0}, []byte{9, 0, 0, 0}, "hi", empty),
		runtimetest.Join([]byte{1, 0, 0}, []byte{8, 0, 0, 0}, "", empty),
	))
	events, err := rt.Events(b)
	if err != nil || len(events) != 2 {
		t.Fatal(events, err)
	}
	if e := events[0]; e.Extrinsic != 7 || e.Pallet != "System" || e.Name != "Remarked" || events[1].Extrinsic >= 0 {
		t.Errorf("%+v", events)
	}
	v, err := rt.EventFields(events[0])
	if got := metadata.Print(v); err != nil || got != `{"by":9,"what":"0x6869"}` {
		t.Error(got, err)
	}
	for n := range b {
		if _, err := rt.Events(b[:n]); !errors.Is(err, scale.ErrMalformed) {
			t.Errorf("the first %d bytes are events: %v", n, err)
		}
	}
}

// Z14: bytes keep their meaning if they have the same shape in another runtime: whatever its numbers are, and whatever else it has.
func TestShapeIsOfTheBytes(t *testing.T) {
	t.Parallel()
	shape := func(m runtimetest.Runtime, call string, arguments []byte) (metadata.Shape, error) {
		rt := decode(t, m)
		c, err := rt.Call("System", call)
		if err != nil {
			t.Fatal(err)
		}
		return rt.Shape(c, arguments)
	}
	hello, notes := runtimetest.Text("hello"), runtimetest.List([]byte{1, 9, 0, 0, 0}, []byte{0})
	for name, is := range map[string]struct {
		change func(*runtimetest.Runtime)
		call   string
		args   []byte
		same   bool
	}{
		"another version of metadata": {func(m *runtimetest.Runtime) { m.Version = 14 }, "remark", hello, true},
		"other numbers":               {func(m *runtimetest.Runtime) { m.System, m.Remark = 5, 7 }, "remark", hello, true},
		"another name":                {func(m *runtimetest.Runtime) { m.Argument = "text" }, "remark", hello, false},
		"another type":                {func(m *runtimetest.Runtime) { m.Of = 13 }, "remark", []byte{0}, false},
		"a variant more":              {func(m *runtimetest.Runtime) { m.Extra = true }, "note", notes, true},
		"another field in it":         {func(m *runtimetest.Runtime) { m.Nested = 11 }, "note", notes, false},
		"another name of a field":     {func(m *runtimetest.Runtime) { m.Field = "depth" }, "note", notes, false},
		"another name of a variant":   {func(m *runtimetest.Runtime) { m.Nothing = "All" }, "note", notes, false},
		"a field of what is not used": {func(m *runtimetest.Runtime) { m.Nested = 11 }, "note", runtimetest.List([]byte{0}), true},
	} {
		before, err := shape(runtimetest.Small(16), is.call, is.args)
		if err != nil {
			t.Fatal(name, err)
		}
		changed := runtimetest.Small(16)
		is.change(&changed)
		after, err := shape(changed, is.call, is.args)
		if same := err == nil && before == after; same != is.same {
			t.Errorf("%s: the same: %v, %v", name, same, err)
		}
	}
	if _, err := shape(runtimetest.Small(16), "remark", append(hello, 0)); !errors.Is(err, scale.ErrMalformed) {
		t.Error("bytes are left over:", err)
	}
}

func TestWrongValuesAreNamed(t *testing.T) {
	t.Parallel()
	rt := decode(t, runtimetest.Small(15))
	note, _ := rt.Call("System", "note")
	remark, _ := rt.Call("System", "remark")
	for _, bad := range []struct {
		call metadata.Call
		json string
		want string
	}{
		{remark, `{"remark":"hello"}`, "System.remark.remark is not of its type: bytes are written as 0x"},
		{remark, `{"remarks":"0x00"}`, `"remark" is missing`},
		{remark, `{"remark":"0x00","more":1}`, "it has 2 names"},
		{remark, `7`, "System.remark is not of its type: it has to be an object with remark"},
		{note, `{"notes":[{"Height":{"height":4294967296}}]}`, "System.note.notes.0.Height.height is not of its type: 4294967296 has no room in 32 bits"},
		{note, `{"notes":[{"Height":{"height":1.5}}]}`, "it has to be a whole number"},
		{note, `{"notes":["Never"]}`, "it has to be one of Nothing, Height"},
	} {
		v, err := metadata.ParseJSON([]byte(bad.json))
		if err != nil {
			t.Fatal(err)
		}
		_, err = rt.EncodeArguments(bad.call, v)
		if !errors.Is(err, metadata.ErrValue) || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, not %q", bad.json, err, bad.want)
		}
	}
	v, _ := metadata.ParseJSON([]byte(`{"notes":["Nothing",{"Height":{"height":"9"}}]}`))
	b, err := rt.EncodeArguments(note, v)
	if got := hex.EncodeToString(b); err != nil || got != "08000109000000" {
		t.Error(got, err)
	}
	if fields, err := rt.Arguments(note, b); err != nil || metadata.Print(fields) != `{"notes":["Nothing",{"Height":{"height":9}}]}` {
		t.Error(metadata.Print(fields), err)
	}
}

func TestLargeNumbersAreTexts(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("340282366920938463463374607431768211455", 10)
	got := metadata.Print([]any{uint64(1 << 53), uint64(1<<53 + 1), huge, int64(-5), nil, "\u202e\"", metadata.Bits("01")})
	if want := `[9007199254740992,"9007199254740993","340282366920938463463374607431768211455",-5,null,"` + "\u202e" + `\"","0b01"]`; got != want {
		t.Error(got)
	}
}

// What an endpoint sends may be a bomb: it is an error, and takes neither time nor memory.
func TestBombsAreErrors(t *testing.T) {
	t.Parallel()
	whole := runtimetest.Small(16).Metadata()
	for n := range whole {
		if _, err := metadata.Decode(whole[:n]); !errors.Is(err, metadata.ErrMetadata) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	for what, more := range map[string][]byte{
		"a type that is not there": runtimetest.Join(uint64(27), empty, empty, 6, uint64(900), empty),
		"a number out of turn":     runtimetest.Join(uint64(28), empty, empty, 5, 0, empty),
		"an unknown form":          runtimetest.Join(uint64(27), empty, empty, 8, 0, empty),
		"an unknown primitive":     runtimetest.Join(uint64(27), empty, empty, 5, 15, empty),
	} {
		m := runtimetest.Small(15)
		m.More = more
		if _, err := metadata.Decode(m.Metadata()); !errors.Is(err, metadata.ErrMetadata) {
			t.Errorf("%s: %v", what, err)
		}
	}
	header := []byte("meta\x0e")
	for name, b := range map[string][]byte{
		"a billion types":    runtimetest.Join(header, uint64(1<<30), make([]byte, 1<<16)),
		"one more byte":      append(runtimetest.Small(14).Metadata(), 0),
		"version 13":         []byte("meta\x0d"),
		"seventeen megabyte": append(header, make([]byte, 17<<20)...),
		"nothing":            nil,
	} {
		if _, err := metadata.Decode(b); !errors.Is(err, metadata.ErrMetadata) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Types that name themselves, double at each step, or have four billion elements of nothing, are legal, and their values are not.
func TestTypesThatNeverEnd(t *testing.T) {
	t.Parallel()
	m := runtimetest.Small(14)
	m.Nested = 12 // what may be noted may have another one in it
	rt := decode(t, m)
	note, _ := rt.Call("System", "note")
	deep := append([]byte{4}, make([]byte, 1000)...)
	for i := range 999 {
		deep[i+1] = 1
	}
	if _, err := rt.Arguments(note, deep); !errors.Is(err, scale.ErrMalformed) {
		t.Error(err)
	}
	if _, err := rt.Shape(note, deep); !errors.Is(err, scale.ErrMalformed) {
		t.Error(err)
	}
	d := scale.NewDecoder(deep)
	if rt.Skip(note.Arguments[0].Type, d); !errors.Is(d.Err(), scale.ErrMalformed) {
		t.Error(d.Err())
	}
	rt, doubled := bomb(t)
	for _, id := range []int{doubled - 1, doubled} {
		if _, err := rt.Value(metadata.TypeID(id), nil); !errors.Is(err, scale.ErrMalformed) {
			t.Errorf("type %d: %v", id, err)
		}
	}
}

// bomb has types that double at each step, from nothing, and at last an array of nothing.
func bomb(t *testing.T) (*metadata.Runtime, int) {
	const doubled = 60
	types := [][]byte{runtimetest.Join(uint64(0), empty, empty, 4, empty, empty)}
	for id := uint64(1); id < doubled; id++ {
		types = append(types, runtimetest.Join(id, empty, empty, 4, runtimetest.List(runtimetest.Join(id-1), runtimetest.Join(id-1)), empty))
	}
	types = append(types,
		runtimetest.Join(uint64(doubled), empty, empty, 3, []byte{255, 255, 255, 255}, uint64(0), empty),
		runtimetest.Join(uint64(doubled+1), empty, runtimetest.List(runtimetest.Join("Address", yes, uint64(0)), runtimetest.Join("Signature", yes, uint64(0))), 4, empty, empty),
	)
	rt, err := metadata.Decode(runtimetest.Join([]byte("meta\x0e"), runtimetest.List(types...), empty, uint64(doubled+1), 4, empty, uint64(0)))
	if err != nil {
		t.Fatal(err)
	}
	return rt, doubled
}

func FuzzDecode(f *testing.F) {
	for _, version := range []byte{14, 15, 16} {
		f.Add(runtimetest.Small(version).Metadata(), []byte{4, 0, 7, 0, 0, 0, 0, 0, 9, 0, 0, 0, 8, 'h', 'i', 0})
	}
	f.Fuzz(func(t *testing.T, b, value []byte) {
		rt, err := metadata.Decode(b)
		if err != nil {
			if !errors.Is(err, metadata.ErrMetadata) {
				t.Fatal(err)
			}
			return
		}
		_, _ = rt.Events(value)
		for pallet := range 4 {
			for index := range 8 {
				if c, err := rt.CallAt([2]byte{byte(pallet), byte(index)}); err == nil {
					fuzzCall(t, rt, c, value)
				}
			}
		}
	})
}

// fuzzCall decodes, prints, reads and encodes what a fuzzer made of arguments: they come back, if they were arguments.
func fuzzCall(t *testing.T, rt *metadata.Runtime, c metadata.Call, b []byte) {
	fields, err := rt.Arguments(c, b)
	_, shapeErr := rt.Shape(c, b)
	d := scale.NewDecoder(b)
	for _, a := range c.Arguments {
		rt.Skip(a.Type, d)
	}
	if err != nil {
		return
	}
	if shapeErr != nil || d.Done() != nil {
		t.Fatalf("%x is decoded, and has no shape: %v, or is not skipped: %v", b, shapeErr, d.Err())
	}
	_, _ = metadata.ParseJSON([]byte(metadata.Print(fields)))
}
