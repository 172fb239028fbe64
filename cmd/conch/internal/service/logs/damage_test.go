package logs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// new-disk-new-member, V7: one bit of an old record is another one in a member's file. That is no torn tail, though many records come
// after it and fit: the node keeps the file, begins with a new store, and is admitted as another member.
func TestOneBitOfAnOldRecord(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3")
	s.start(s.names...)
	made := s.nodes["n1"].create(s.names...)
	for i := range 20 {
		s.nodes["n1"].put("k", i)
	}
	s.equal(s.names...)
	n := s.nodes["n2"]
	before := n.status().Store
	n.stop()
	file := filepath.Join(n.dir, "logs", "flags.log")
	flipsOneBit(t, file, []byte(`"value":3}`))
	n.start()
	pgtest.Eventually(t, 2*nodetest.Patience, "n2 is a member again", func() bool {
		now := n.status()
		return now.ID == made.ID && now.Decides && now.Store != before
	})
	if kept, err := filepath.Glob(file + ".aside-*"); err != nil || len(kept) == 0 {
		t.Errorf("n2 keeps %q, %v", kept, err)
	}
	s.nodes["n3"].put("k", 100)
	s.equal(s.names...)
}

// A newer conch has stored a promise, and is rolled back: the node takes no part and says why. It keeps its store where it is, or a
// release that is rolled back everywhere would take the promises of all members.
func TestAStoreOfANewerProgram(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1")
	s.start("n1")
	n := s.nodes["n1"]
	n.create("n1")
	n.put("k", 1)
	before := n.status().Store
	n.stop()
	file := filepath.Join(n.dir, "logs", "flags.log")
	mark := rewritesMark(t, file, []byte{99})
	n.refuses(file, txlog.ErrVersion)
	rewritesMark(t, file, mark)
	n.start()
	pgtest.Eventually(t, nodetest.Patience, "the node goes on with its store", func() bool {
		now := n.status()
		return now.State == stateRunning && now.Store == before
	})
	n.put("k", 2)
}

// other is a state machine that comes to other states, as that of another version may.
type other struct {
	txlog.State
	armed *bool
}

func (o other) Hash() txlog.Hash {
	h := o.State.Hash()
	if *o.armed {
		h[0] ^= 1
	}
	return h
}

// A store has an entry that this program's state machine does not come to. The node takes no part, says why, and keeps the store where
// it is: where all members are renewed with such a program, these are all copies.
func TestAStoreOfAnotherProgram(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1")
	s.start("n1")
	n := s.nodes["n1"]
	n.create("n1")
	n.put("k", 1)
	n.stop()
	file := filepath.Join(n.dir, "logs", "flags.log")
	goesOnOtherwise(t, file)
	n.refuses(file, store.ErrUnfit)
}

// refuses starts a node that cannot go on with its store. It says why, and leaves the store where it is.
func (n *testNode) refuses(file string, why error) {
	n.t.Helper()
	n.start()
	pgtest.Eventually(n.t, nodetest.Patience, "the node says why it takes no part", func() bool {
		now := n.status()
		return now.State == stateFailed && strings.Contains(now.Why, why.Error())
	})
	n.stop()
	if kept, err := filepath.Glob(file + ".*"); err != nil || len(kept) > 0 {
		n.t.Errorf("beside the store are %q, %v", kept, err)
	}
}

// goesOnOtherwise stores an entry of another program's machine.
func goesOnOtherwise(t *testing.T, file string) {
	t.Helper()
	s, err := disk.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	var armed bool
	c, err := store.Load(s, func() txlog.State { return other{kv.New(), &armed} })
	if err != nil {
		t.Fatal(err)
	}
	armed = true
	record, err := c.Next(txlog.Entry{Term: c.Position().Term, Kind: txlog.Opening, Leader: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Write(store.Step{Records: []txlog.Record{record}}), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// rewritesMark stores another mark in a store, and returns the one that was there.
func rewritesMark(t *testing.T, file string, with []byte) (was []byte) {
	t.Helper()
	const name = "quorum/mark"
	s, err := disk.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if was = s.Value(name); was == nil {
		t.Fatal("the store has no mark")
	}
	if err := errors.Join(s.Write(store.Step{Values: map[string][]byte{name: with}}), s.Close()); err != nil {
		t.Fatal(err)
	}
	return was
}

// flipsOneBit flips a bit of a text in a store's file, where it is in use: the file has older versions of pages too.
func flipsOneBit(t *testing.T, file string, text []byte) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; ; {
		next := bytes.Index(b[at:], text)
		if next < 0 {
			t.Fatalf("%s is not in the file", text)
		}
		at += next + len(text)
		b[at-2] ^= 1
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := disk.OpenReadOnly(t.Context(), file)
		if errors.Is(err, store.ErrDamaged) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		b[at-2] ^= 1
	}
}
