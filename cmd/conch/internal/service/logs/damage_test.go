package logs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
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

// A member's store is restored from a backup, and with one that was away it goes on without what was acknowledged since: the log has forked. n2
// alone has what was acknowledged, and nobody can know that but a person: each node, whichever way it went, names both explanations and accuses
// nobody, and verify names the first entry that differs.
func TestAStoreThatWasRestored(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4", "n5")
	s.start(s.names...)
	s.nodes["n2"].create("n1", "n2", "n3")
	for i := range 3 {
		s.nodes["n2"].put("a", i)
	}
	s.equal(s.names...)
	common := s.nodes["n1"].status().Position.Index
	file := filepath.Join(s.nodes["n1"].dir, "logs", "flags.log")
	s.stop("n3", "n5", "n1")
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s.start("n1")
	for i := range 5 {
		s.nodes["n2"].put("b", i)
	}
	s.equal("n1", "n2", "n4")

	s.stop("n1", "n2", "n4")
	if err := os.WriteFile(file, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start("n1", "n3", "n5")
	pgtest.Eventually(t, nodetest.Patience, "the log runs", func() bool { return s.nodes["n1"].status().Leader != "" })
	for i := range 9 { // more than n2 has
		s.nodes["n1"].put("c", i)
	}
	s.start("n2", "n4")
	for _, name := range s.names {
		n := s.nodes[name]
		pgtest.Eventually(t, nodetest.Patience, name+" says that the log has forked", func() bool { return strings.Contains(n.status().Advice, "docs/log.md") })
		for _, c := range []struct{ what, text string }{{"status", n.status().Advice}, {"overview", n.says(t, "status")}} {
			if both := strings.Contains(c.text, "restored from a backup or copied") && strings.Contains(c.text, "lies, or its key is stolen"); !both ||
				!strings.Contains(c.text, "docs/log.md (A store that was restored)") || strings.Contains(c.text, ": it lies") {
				t.Errorf("%s of %s says %q", c.what, name, c.text)
			}
		}
	}
	one := func(text string) func() bool {
		return func() bool {
			return slices.ContainsFunc(s.names, func(name string) bool { return strings.Contains(s.nodes[name].status().Advice, text) })
		}
	}
	pgtest.Eventually(t, nodetest.Patience, "a member says that the leader has other entries", one("leads, and has other entries than those that are committed here"))
	pgtest.Eventually(t, nodetest.Patience, "the leader says that a member has other entries", one("says that entries are committed there which this leader does not have"))
	var args []string
	for _, name := range s.names {
		args = append(args, "--node", s.nodes[name].web.URL)
	}
	text := s.nodes["n1"].says(t, "verify", args...)
	if want := fmt.Sprintf("the nodes differ from entry %d on", common+1); !strings.Contains(text, want) {
		t.Errorf("verify says %q, want %q", text, want)
	}
}

// says returns what a command of conch log about flags prints, and its error.
func (n *testNode) says(t *testing.T, command string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := Commands(&cli.Shell{World: cli.World{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}})[0]
	if command != "verify" {
		args = append(args, "--node", n.web.URL)
	}
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetArgs(append([]string{command, "flags"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String() + fmt.Sprint(err)
}

// A member's store is an older one, restored from a backup: while its log runs the leader finds out. From then on nothing runs here, and the
// node does not say that it does: gossip is told. Since so many stores were set aside before that this is no accident, it waits for a person to
// look, with the last one aside as well: it has forgotten what it promised. When files are gone it goes on by itself.
func TestStoresAreNotSetAsideForever(t *testing.T) {
	t.Parallel()
	s := newLog(t, "n1", "n2", "n3")
	n := s.nodes["n2"]
	file := filepath.Join(n.dir, "logs", "flags.log")
	n.stop()
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n.start()
	for i := range 20 {
		s.nodes["n1"].put("a", i)
	}
	s.equal(s.names...)
	n.stop()
	all := []error{os.WriteFile(file, backup, 0o600)}
	for i := range mostAside - 1 {
		all = append(all, os.WriteFile(fmt.Sprintf("%s.aside-%d", file, i+1), nil, 0o600))
	}
	if err := errors.Join(append(all, os.WriteFile(file+".aside-1.damaged", nil, 0o600))...); err != nil {
		t.Fatal(err)
	}
	n.start()
	pgtest.Eventually(t, 2*nodetest.Patience, "n2 waits for a person", func() bool {
		now := n.status()
		if now.State == stateRunning && now.Position == nil {
			t.Error("it says that the log runs, while nothing runs")
		}
		return now.State == stateFailed && strings.Contains(now.Why, "5 stores were set aside") && strings.Contains(now.Why, file+".aside-*")
	})
	pgtest.Eventually(t, 4*nodetest.Patience, "gossip is told", func() bool { return strings.Contains(n.withdrawn(), "5 stores were set aside") })
	if id, err := n.svc.Parts()[0].drawStore(t.Context()); err == nil {
		t.Errorf("it draws store %d for a log that another node makes", id)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a store is in the place of the last one: %v", err)
	}
	if err := os.Remove(file + ".aside-2"); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, 4*nodetest.Patience, "n2 is a member again", func() bool { return n.status().Decides })
	s.equal(s.names...)
}

// What a node says to gossip depends on what it knows of itself: a log that it never had, and of which nobody has spoken, is none of which it
// is a member.
func TestWhatIsUnfit(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	for _, c := range []struct {
		name   string
		p      *part
		before error
		unfit  bool
	}{
		{"it is opened for the first time", &part{state: stateOpening}, nil, false},
		{"it is opened again", &part{state: stateOpening}, why, true},
		{"it has failed", &part{state: stateFailed, why: why}, nil, true},
		{"a follower's has failed", &part{state: stateFailed, why: why, follows: true}, nil, false},
		{"nobody has made the log", &part{state: stateWaiting}, nil, false},
		{"nobody is believed how it began", &part{state: stateWaiting, why: why}, nil, true},
		{"a follower believes nobody", &part{state: stateWaiting, why: why, follows: true}, nil, false},
	} {
		if got := c.p.unfit(c.before); (got != nil) != c.unfit {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
