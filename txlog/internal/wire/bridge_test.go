package wire

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/kv"
)

// A bridge over a change of members fits into a message, with records beside it, however large the entries are that follow the
// change: else a follower from before it would never get on. One that would not is not made; a head of the change itself makes it
// shorter.
func TestABridgeFits(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, _ := key.Public().(ed25519.PublicKey)
	members := []txlog.Member{{Name: "a", Key: txlog.Fingerprint(public), Store: 1}, {Name: "b", Key: txlog.Hash{2}, Store: 2}}
	g := txlog.Genesis{Namespace: "flags", Machine: "kv/1", Members: members}.With()
	c := txlog.NewCopy(g, kv.New)
	next := func(e txlog.Entry) txlog.Record {
		e.Term, e.Leader = 2, "b"
		r, err := c.Next(e)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	records := []txlog.Record{next(txlog.Entry{Kind: txlog.Changed, Members: []txlog.Member{{Name: "b", Key: txlog.Hash{2}, Store: 2}}})}
	heads := []txlog.Head{txlog.Head{Position: records[0].Position(), State: records[0].State, Member: "a"}.Sign(key)}
	for i := range 40 {
		value := strings.Repeat(fmt.Sprint(i%10), 30<<10)
		goal := fmt.Appendf(nil, `{"ops":[{"op":"put","key":"x","value":%q},{"op":"put","key":"y","value":%q}]}`, value, value)
		o := c.Execute(goal)
		r := next(txlog.Entry{Kind: txlog.Executed, GoalID: fmt.Sprint(i), Goal: goal, Result: o.Result, Fault: o.Fault, Diff: o.Diff})
		records, heads = append(records, r), append(heads, txlog.Head{Position: r.Position(), State: r.State, Member: "a"}.Sign(key))
	}
	if n := len(records[30].Raw()); n < 120<<10 {
		t.Fatalf("an entry has %d bytes", n)
	}
	made := 0
	for n := range records {
		m := follower.New(follower.Config{Self: "f", Base: txlog.NewCopy(g, kv.New), New: kv.New, Member: true})
		m.Step(0, follower.Applied{Records: records[:n+1]})
		bridge := func(h txlog.Head) *follower.Bridge {
			for _, a := range m.Step(0, follower.Heard{Head: h, Via: "p"}) {
				if k, is := a.(follower.KeepBridge); is {
					return &k.Bridge
				}
			}
			return nil
		}
		b := bridge(heads[n])
		if b == nil {
			if n == 0 {
				t.Fatal("no bridge is made")
			}
			if b = bridge(heads[0]); b == nil || len(b.Records) != 1 {
				t.Fatalf("after %d entries a head of the change makes no bridge", n)
			}
			continue
		}
		made++
		a := follower.History{Bridges: []follower.Bridge{*b}}
		for i, size := 1, 0; i < len(records) && size+len(records[i].Raw()) <= follower.MostAnswer; i++ {
			size += len(records[i].Raw())
			a.Records = append(a.Records, records[i])
		}
		if fits := Fit(a); len(fits.Bridges) != 1 || len(fits.Records) != len(a.Records) {
			t.Fatalf("a bridge of %d entries does not fit", len(b.Records))
		}
	}
	if made < 10 {
		t.Errorf("%d bridges were made", made)
	}
}
