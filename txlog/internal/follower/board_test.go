package follower

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// board is a state machine for tests: a goal is a text, and the state is the last one. A goal "big N" has a diff of N bytes more.
type board struct{ text string }

func newBoard() txlog.State { return &board{} }

func (b *board) Execute(goal []byte, _ *txlog.Budget) txlog.Outcome {
	text := string(goal)
	if size, is := strings.CutPrefix(text, "big "); is {
		n, _ := strconv.Atoi(size)
		text = string(slices.Repeat([]byte{'x'}, n))
	}
	return txlog.Outcome{Result: []byte(b.text[:min(len(b.text), 9)]), Diff: []byte(b.text + "\x00" + text)}
}

func (b *board) Apply(diff []byte) error {
	if len(diff) == 0 {
		return nil
	}
	at := slices.Index(diff, 0)
	if at < 0 || string(diff[:at]) != b.text {
		return txlog.ErrDiff
	}
	b.text = string(diff[at+1:])
	return nil
}

func (b *board) View() txlog.View                            { v := *b; return &v }
func (b *board) Query([]byte, *txlog.Budget) ([]byte, error) { return []byte(b.text), nil }
func (b *board) Hash() txlog.Hash                            { var t txlog.Tree; t.Add([]byte(b.text)); return t.Hash() }
func (b *board) Snapshot() []byte                            { return []byte(b.text) }
func (b *board) Restore(snapshot []byte) error               { b.text = string(snapshot); return nil }

// key is the key of a node of the tests.
func key(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

func member(name string) txlog.Member {
	public, _ := key(name).Public().(ed25519.PublicKey)
	m := txlog.Member{Name: name, Key: txlog.Fingerprint(public), Store: 1}
	for _, c := range name {
		m.Store = m.Store*31 + uint64(c)
	}
	return m
}

func membersOf(names ...string) (all []txlog.Member) {
	for _, name := range names {
		all = append(all, member(name))
	}
	return all
}

// line is a log as its leader has it.
type line struct {
	t       testing.TB
	copy    *txlog.Copy
	records []txlog.Record // the first one is the log's first
}

func newLine(t testing.TB, members ...string) *line {
	t.Helper()
	g := txlog.Genesis{Namespace: "flags", Machine: "board/1", Members: membersOf(members...)}.With()
	return &line{t: t, copy: txlog.NewCopy(g, newBoard)}
}

func (l *line) next(e txlog.Entry) txlog.Record {
	l.t.Helper()
	if e.Leader == "" {
		e.Leader = l.copy.Members()[0].Name
	}
	if e.Kind == txlog.Executed {
		o := l.copy.Execute(e.Goal)
		e.Result, e.Diff = o.Result, o.Diff
	}
	e.Term = max(e.Term, l.copy.Position().Term, 1)
	r, err := l.copy.Next(e)
	if err != nil {
		l.t.Fatal(err)
	}
	l.records = append(l.records, r)
	return r
}

// goals adds goals up to an index.
func (l *line) goals(upto uint64, text string) *line {
	l.t.Helper()
	for l.copy.Position().Index < upto {
		n := l.copy.Position().Index + 1
		l.next(txlog.Entry{Kind: txlog.Executed, GoalID: fmt.Sprintf("%s-%d", text, n), Goal: fmt.Appendf(nil, "%s %d", text, n)})
	}
	return l
}

// change adds a change of members.
func (l *line) change(names ...string) *line {
	l.t.Helper()
	l.next(txlog.Entry{Kind: txlog.Changed, Members: membersOf(names...)})
	return l
}

// fork returns a line with the same entries up to an index.
func (l *line) fork(at uint64) *line {
	l.t.Helper()
	return &line{t: l.t, copy: l.copyAt(at), records: slices.Clone(l.records[:at])}
}

// copyAt returns a copy at an index.
func (l *line) copyAt(at uint64) *txlog.Copy {
	l.t.Helper()
	return l.copyWith(at, newBoard)
}

func (l *line) copyWith(at uint64, state func() txlog.State) *txlog.Copy {
	l.t.Helper()
	c := txlog.NewCopy(l.copy.Genesis(), state)
	for _, r := range l.records[:at] {
		if err := c.Apply(r); err != nil {
			l.t.Fatal(err)
		}
	}
	return c
}

// head is a member's head.
func (l *line) head(at uint64, by string) txlog.Head {
	r := l.records[at-1]
	return txlog.Head{Position: r.Position(), State: r.State, Member: by}.Sign(key(by))
}

func (l *line) from(from, upto uint64) []txlog.Record { return l.records[from-1 : upto] }

// bridge is a bridge over the change at an index.
func (l *line) bridge(at, upto uint64, by string) Bridge {
	return Bridge{Records: l.from(at, upto), Head: l.head(upto, by)}
}
