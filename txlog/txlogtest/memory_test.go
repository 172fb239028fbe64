package txlogtest_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/txlogtest"
)

// room is a Memory under test.
type room struct{ *txlogtest.Memory }

func (r room) Start(name string) (txlog.Authority, []txlog.Record, uint64) {
	return r.Memory.Start(name)
}

func (r room) Lead(name string)               { r.Node(name).Campaign() }
func (r room) Facts(name string) []txlog.Fact { return r.Node(name).Facts() }

func TestMemory(t *testing.T) {
	t.Parallel()
	txlogtest.ExerciseAuthority(t, func(*testing.T, txlog.Genesis) txlogtest.Room { return room{txlogtest.NewMemory(txlogtest.Names...)} })
}

func sealed(t *testing.T, after txlog.Record, e txlog.Entry) txlog.Record {
	t.Helper()
	log := txlogtest.Genesis("exercise").ID()
	e.Log, e.Index, e.Prev, e.Leader = log, after.Position().Index+1, log, "a"
	if e.Index > 1 {
		e.Prev = after.Hash()
	}
	r, err := txlog.Seal(e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tells(t *testing.T, n *txlogtest.Node, want ...txlog.Fact) {
	t.Helper()
	if got := n.Facts(); !reflect.DeepEqual(got, want) {
		t.Errorf("told %+v, want %+v", got, want)
	}
}

// The toy tells a leader, a follower and a deposed leader what a majority of members would.
func TestMemoryTells(t *testing.T) {
	t.Parallel()
	m := txlogtest.NewMemory("a", "b", "c")
	a, b, c := m.Node("a"), m.Node("b"), m.Node("c")
	a.Campaign()
	tells(t, a, txlog.Leads{Term: 1})
	tells(t, b, txlog.Deposed{Term: 1, Leader: "a"})
	opening := sealed(t, txlog.Record{}, txlog.Entry{Term: 1, Kind: txlog.Opening})
	a.Append(opening)
	tells(t, a, txlog.Stored{Records: []txlog.Record{opening}}, txlog.Committed{Index: 1})
	tells(t, b, txlog.Stored{Records: []txlog.Record{opening}}, txlog.Committed{Index: 1})

	m.Part("a")
	lost := sealed(t, opening, txlog.Entry{Term: 1, Kind: txlog.Scrubbed})
	a.Append(lost)
	a.Confirm(7)
	tells(t, a, txlog.Stored{Records: []txlog.Record{lost}})
	c.Facts()
	b.Campaign()
	kept := sealed(t, opening, txlog.Entry{Term: 2, Kind: txlog.Opening})
	b.Append(kept)
	c.Confirm(8)
	tells(t, c, txlog.Deposed{Term: 2, Leader: "b"}, txlog.Stored{Records: []txlog.Record{kept}}, txlog.Committed{Index: 2}, txlog.Confirmed{Read: 8, Index: 2})
	m.Part()
	tells(t, a, txlog.Deposed{Term: 2}, txlog.Deposed{Term: 2, Leader: "b"}, txlog.Stored{Records: []txlog.Record{kept}}, txlog.Committed{Index: 2})
}

// A member that looks before it stores is not counted, and the leader hears of it.
func TestMemoryRefuses(t *testing.T) {
	t.Parallel()
	m := txlogtest.NewMemory("a", "b", "c")
	a := m.Node("a")
	wrong := func([]txlog.Record) error { return errors.New("the state comes out otherwise") }
	m.Node("b").Look, m.Node("c").Look = wrong, wrong
	a.Campaign()
	a.Facts()
	opening := sealed(t, txlog.Record{}, txlog.Entry{Term: 1, Kind: txlog.Opening})
	a.Append(opening)
	tells(t, a, txlog.Stored{Records: []txlog.Record{opening}}, txlog.Refused{Member: "b", Index: 1}, txlog.Refused{Member: "c", Index: 1})
	m.Node("b").Look = nil
	m.Part()
	tells(t, a, txlog.Refused{Member: "c", Index: 1}, txlog.Committed{Index: 1})
}

// Nobody leads who lacks what may be committed, and an entry of an older term is committed by one of the newer.
func TestMemoryElects(t *testing.T) {
	t.Parallel()
	m := txlogtest.NewMemory("a", "b", "c")
	a, b, c := m.Node("a"), m.Node("b"), m.Node("c")
	a.Campaign()
	m.Part("c")
	opening := sealed(t, txlog.Record{}, txlog.Entry{Term: 1, Kind: txlog.Opening})
	a.Append(opening)
	m.Crash("a")
	m.Part()
	b.Facts()
	c.Facts()
	c.Campaign()
	tells(t, c)
	m.Part("b", "c") // c has nothing, and b leads with it
	b.Campaign()
	tells(t, b, txlog.Leads{Term: 2})
	tells(t, c, txlog.Deposed{Term: 2, Leader: "b"}, txlog.Stored{Records: []txlog.Record{opening}})
	second := sealed(t, opening, txlog.Entry{Term: 2, Kind: txlog.Opening})
	b.Append(second)
	tells(t, c, txlog.Stored{Records: []txlog.Record{second}}, txlog.Committed{Index: 2})
}
