package txlog

import (
	"bytes"
	"testing"
)

// Bytes that are a record are the only ones that are this record: no bytes panic, and none but its own have its hash.
func FuzzOpen(f *testing.F) {
	for _, r := range seeds(f) {
		f.Add(r.Raw())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := Open(raw)
		if err != nil {
			return
		}
		again, err := Seal(r.Entry)
		if err != nil || !bytes.Equal(again.Raw(), raw) || again.Hash() != r.Hash() {
			t.Errorf("%x is written as %x, %v", raw, again.Raw(), err)
		}
	})
}

func FuzzDecodeGenesis(f *testing.F) {
	f.Add(sampleGenesis().Encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if g, err := DecodeGenesis(raw); err == nil && !bytes.Equal(g.Encode(), raw) {
			t.Errorf("%x is written as %x", raw, g.Encode())
		}
	})
}

func FuzzDecodeHead(f *testing.F) {
	f.Add(Head{Position: Position{Index: 1 << 40, Term: 9}, Member: "ann"}.Sign(key("ann")).Encode())
	members := sampleGenesis().Members
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := DecodeHead(raw)
		if err == nil && !bytes.Equal(h.Encode(), raw) {
			t.Errorf("%x is written as %x", raw, h.Encode())
		}
		if err := h.Verify(members); err == nil && h.Member != "ann" {
			t.Errorf("%x is signed by %s", raw, h.Member)
		}
	})
}

// What is restored has one snapshot: its own.
func FuzzRestore(f *testing.F) {
	all := seeds(f)
	for _, n := range []int{0, 1, 5, len(all)} {
		c := NewCopy(sampleGenesis(), newToy)
		for _, r := range all[:n] {
			if err := c.Apply(r); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(c.Snapshot())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if c, err := Restore(raw, newToy); err == nil && !bytes.Equal(c.Snapshot(), raw) {
			t.Errorf("%x is written as %x", raw, c.Snapshot())
		}
	})
}

// seeds are records of each kind.
func seeds(f *testing.F) (all []Record) {
	c := NewCopy(sampleGenesis(), newToy)
	performed, changed := of(Performed), of(Changed)
	performed.Upto, changed.Members = Key{Index: 3}, sampleGenesis().Members[:1]
	for _, e := range []Entry{of(Opening), goal("g1", "light=red"), goal("g2", "mail to all"), performed, changed, of(Scrubbed), goal("g3", "fail it cannot be")} {
		if e.Kind == Executed {
			o := c.Execute(e.Goal)
			e.Result, e.Fault, e.Diff, e.Effects = o.Result, o.Fault, o.Diff, o.Effects
		}
		r, err := c.Next(e)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}
