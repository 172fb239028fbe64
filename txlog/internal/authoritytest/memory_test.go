package authoritytest_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/internal/authoritytest"
)

// room is a Memory under test.
type room struct{ *authoritytest.Memory }

func (r room) Start(name string) (authority.Authority, []txlog.Record, uint64) {
	return r.Memory.Start(name)
}

func (r room) Lead(name string)                   { r.Node(name).Campaign() }
func (r room) Facts(name string) []authority.Fact { return r.Node(name).Facts() }

func TestMemory(t *testing.T) {
	t.Parallel()
	authoritytest.Exercise(t, func(*testing.T, txlog.Genesis) authoritytest.Room {
		return room{authoritytest.NewMemory(authoritytest.Names...)}
	})
}

func sealed(t *testing.T, after txlog.Record, e txlog.Entry) txlog.Record {
	t.Helper()
	log := authoritytest.Genesis("exercise").ID()
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

func tells(t *testing.T, n *authoritytest.Node, want ...authority.Fact) {
	t.Helper()
	if got := n.Facts(); !reflect.DeepEqual(got, want) {
		t.Errorf("told %+v, want %+v", got, want)
	}
}

// The toy tells a leader, a follower and a deposed leader what a majority of members would.
func TestMemoryTells(t *testing.T) {
	t.Parallel()
	m := authoritytest.NewMemory("a", "b", "c")
	a, b, c := m.Node("a"), m.Node("b"), m.Node("c")
	a.Campaign()
	tells(t, a, authority.Leads{Term: 1})
	tells(t, b, authority.Deposed{Term: 1, Leader: "a"})
	opening := sealed(t, txlog.Record{}, txlog.Entry{Term: 1, Kind: txlog.Opening})
	a.Append(opening)
	tells(t, a, authority.Stored{Records: []txlog.Record{opening}}, authority.Committed{Index: 1})
	tells(t, b, authority.Stored{Records: []txlog.Record{opening}}, authority.Committed{Index: 1})

	m.Part("a")
	lost := sealed(t, opening, txlog.Entry{Term: 1, Kind: txlog.Scrubbed})
	a.Append(lost)
	a.Confirm(7)
	tells(t, a, authority.Stored{Records: []txlog.Record{lost}})
	c.Facts()
	b.Campaign()
	kept := sealed(t, opening, txlog.Entry{Term: 2, Kind: txlog.Opening})
	b.Append(kept)
	c.Confirm(8)
	tells(t, c, authority.Deposed{Term: 2, Leader: "b"}, authority.Stored{Records: []txlog.Record{kept}}, authority.Committed{Index: 2}, authority.Confirmed{Read: 8, Index: 2})
	m.Part()
	tells(t, a, authority.Deposed{Term: 2}, authority.Deposed{Term: 2, Leader: "b"}, authority.Stored{Records: []txlog.Record{kept}}, authority.Committed{Index: 2})
}

// A member that looks before it stores is not counted, and the leader hears of it.
func TestMemoryRefuses(t *testing.T) {
	t.Parallel()
	m := authoritytest.NewMemory("a", "b", "c")
	a := m.Node("a")
	wrong := func([]txlog.Record) error { return errors.New("the state comes out otherwise") }
	m.Node("b").Look, m.Node("c").Look = wrong, wrong
	a.Campaign()
	a.Facts()
	opening := sealed(t, txlog.Record{}, txlog.Entry{Term: 1, Kind: txlog.Opening})
	a.Append(opening)
	tells(t, a, authority.Stored{Records: []txlog.Record{opening}}, authority.Refused{Member: "b", Index: 1}, authority.Refused{Member: "c", Index: 1})
	m.Node("b").Look = nil
	m.Part()
	tells(t, a, authority.Refused{Member: "c", Index: 1}, authority.Committed{Index: 1})
}

// Nobody leads who lacks what may be committed, and an entry of an older term is committed by one of the newer.
func TestMemoryElects(t *testing.T) {
	t.Parallel()
	m := authoritytest.NewMemory("a", "b", "c")
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
	tells(t, b, authority.Leads{Term: 2})
	tells(t, c, authority.Deposed{Term: 2, Leader: "b"}, authority.Stored{Records: []txlog.Record{opening}})
	second := sealed(t, opening, txlog.Entry{Term: 2, Kind: txlog.Opening})
	b.Append(second)
	tells(t, c, authority.Stored{Records: []txlog.Record{second}}, authority.Committed{Index: 2})
}
