package txlog

import (
	"crypto/ed25519"
	"testing"
)

func counting(from byte) (h Hash) {
	for i := range h {
		h[i] = from + byte(i)
	}
	return h
}

// key returns the key of a member, by its name.
func key(name string) ed25519.PrivateKey {
	seed := hashOf("key of a test", []byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(name string) ed25519.PublicKey { return key(name).Public().(ed25519.PublicKey) }

func member(name string, store uint64) Member {
	return Member{Name: name, Key: Fingerprint(public(name)), Store: store}
}

func sampleGenesis() Genesis {
	return Genesis{
		Namespace: "fleet", Machine: "toy/1", Nonce: counting(1), LeaseMS: 3000, Retention: 8, Scrub: 4,
		Members: []Member{member("ann", 11), member("bob", 12), member("cid", 13)},
	}
}

func goal(id, body string) Entry {
	return Entry{Kind: Executed, Term: 1, Leader: "ann", At: 1_700_000_000_000, GoalID: id, Goal: []byte(body)}
}

func of(kind Kind) Entry { return Entry{Kind: kind, Term: 1, Leader: "ann"} }

// next makes the next record of a copy; a goal is executed on it.
func next(t *testing.T, c *Copy, e Entry) Record {
	t.Helper()
	if e.Kind == Executed {
		o := c.Execute(e.Goal)
		e.Result, e.Fault, e.Diff, e.Effects = o.Result, o.Fault, o.Diff, o.Effects
	}
	r, err := c.Next(e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sampleLog has a record of each kind, and the copy after them.
func sampleLog(t *testing.T) (*Copy, []Record) {
	t.Helper()
	c := NewCopy(sampleGenesis(), newToy)
	performed := of(Performed)
	performed.Upto = Key{Index: 4}
	changed := of(Changed)
	changed.Members = []Member{member("ann", 11), member("bob", 12), member("dot", 14)}
	second := goal("g5", "light=blue")
	second.Term = 2
	var all []Record
	for _, e := range []Entry{
		of(Opening), goal("g1", "light=red"), goal("g2", "fail it cannot be"), goal("g3", "mail to all"), performed, changed,
		goal("g4", "mail again"), of(Scrubbed), second,
	} {
		if n := len(all); n > 0 {
			e.Term = max(e.Term, all[n-1].Term)
		}
		all = append(all, next(t, c, e))
	}
	return c, all
}

func sampleHead(t *testing.T) Head {
	t.Helper()
	c, _ := sampleLog(t)
	return Head{Position: c.Position(), State: c.Hash(), Member: "ann"}.Sign(key("ann"))
}
