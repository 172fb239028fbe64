package host

import (
	"crypto/ed25519"
	"fmt"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/store"
)

// A head of what a snapshot has replaced in the same step is not stored: the store has no such record any more, and the
// process would end.
func TestAHeadBeforeASnapshot(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, _ := key.Public().(ed25519.PublicKey)
	g := txlog.Genesis{Namespace: "flags", Machine: "kv/1", Members: []txlog.Member{{Name: "n1", Key: txlog.Fingerprint(public), Store: 1}}}.With()
	s := store.NewMemory(1, g)
	c := txlog.NewCopy(g, kv.New)
	var records []txlog.Record
	for i := range 40 {
		goal := fmt.Appendf(nil, `{"op":"put","key":"k","value":%d}`, i)
		o := c.Execute(goal)
		r, err := c.Next(txlog.Entry{Kind: txlog.Executed, Term: 2, Leader: "n1", GoalID: fmt.Sprint(i), Goal: goal, Result: o.Result, Fault: o.Fault, Diff: o.Diff})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	if err := s.Write(store.Step{Records: records[:20]}); err != nil {
		t.Fatal(err)
	}
	has, err := Load(s, kv.New)
	if err != nil {
		t.Fatal(err)
	}
	core, err := NewCore(Settings{Self: "n1", Key: key, New: kv.New}, has)
	if err != nil {
		t.Fatal(err)
	}
	last := records[39]
	head := txlog.Head{Position: last.Position(), State: last.State, Member: "n1"}.Sign(key)
	core.adopt(follower.Adopt{Base: c, Snapshot: c.Snapshot(), Offer: follower.SumPieces(head, c.Snapshot())})
	core.say(txlog.Head{Position: records[19].Position(), State: records[19].State})
	for _, w := range core.Step(0, Batch{}).Writes {
		if err := w.To(s); err != nil {
			t.Error(err)
		}
	}
}
