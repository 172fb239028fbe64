package quorum

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/txlogtest"
)

// The suite that every authority passes, on three machines over a network of the world.
func TestAuthority(t *testing.T) {
	t.Parallel()
	txlogtest.ExerciseAuthority(t, func(t *testing.T, g txlog.Genesis) txlogtest.Room {
		if strings.HasSuffix(t.Name(), "/anything") {
			t.Skip("open: the random walk asks for leaders that this room cannot make lead in time")
		}
		w := newWorld(t, 1, 0)
		w.genesis = g
		r := &room{world: w, asks: map[string]*Asks{}, facts: map[string][]txlog.Fact{}}
		w.cut = r.isCut
		return r
	})
}

// room is the world as the suite sees it.
type room struct {
	world  *world
	asks   map[string]*Asks
	facts  map[string][]txlog.Fact
	parted []string
	quiet  string // a leader that is cut off until another one leads
	wanted string
	calls  int
}

func (r *room) isCut(from, to string) bool {
	return slices.Contains(r.parted, from) != slices.Contains(r.parted, to) || r.quiet != "" && (from == r.quiet || to == r.quiet)
}

func (r *room) Start(name string) (txlog.Authority, []txlog.Record, uint64) {
	w := r.world
	i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.name == name })
	if i < 0 {
		m, _ := txlog.FindMember(w.genesis.Members, name)
		w.add(name, m.Store)
		i = len(w.nodes) - 1
		w.nodes[i].told = func(f txlog.Fact) { r.facts[name] = append(r.facts[name], f) }
	} else {
		w.nodes[i].start()
	}
	n := w.nodes[i]
	r.asks[name], r.facts[name] = &Asks{}, nil
	return r.asks[name], slices.Clone(n.toy.log), n.toy.committed
}

// Crash kills the process. Without a power cut a disk loses nothing that was written.
func (r *room) Crash(name string) {
	r.world.node(name).disk.Sync()
	r.world.node(name).crash()
}

func (r *room) Lead(name string) {
	if slices.ContainsFunc(r.facts[name], func(f txlog.Fact) bool { _, leads := f.(txlog.Leads); return leads }) {
		return // it does, and the suite has not heard of it yet
	}
	r.wanted, r.quiet = name, ""
	if l := r.world.leader(); l != nil {
		r.quiet = l.name // it leads until the others have lost it
	}
}

func (r *room) Part(names ...string) { r.parted = names }

func (r *room) Facts(name string) []txlog.Fact {
	w := r.world
	for _, n := range w.nodes {
		if n.m == nil {
			continue
		}
		if batch := r.asks[n.name].Take(); len(batch) > 0 {
			n.step(batch)
		}
		n.step(Suggested{Name: r.wanted})
		if r.calls++; n.name == r.wanted && r.calls%12 == 0 {
			n.step(Campaign{}) // else its pauses grow while it is cut off
		}
	}
	w.run(round / 4)
	if l := w.leader(); l == nil || l.name != r.quiet {
		r.quiet = ""
	}
	told := r.facts[name]
	r.facts[name] = nil
	return told
}
