package majority

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/internal/authoritytest"
)

// The suite that every authority passes, on three machines over a network of the world.
func TestAuthority(t *testing.T) {
	t.Parallel()
	authoritytest.Exercise(t, func(t *testing.T, g txlog.Genesis) authoritytest.Room {
		w := newWorld(t, 1, 0)
		w.genesis = g
		r := &room{world: w, asks: map[string]*Asks{}, facts: map[string][]authority.Fact{}}
		w.cut = r.isCut
		return r
	})
}

// room is the world as the suite sees it.
type room struct {
	world     *world
	asks      map[string]*Asks
	facts     map[string][]authority.Fact
	parted    []string
	suggested string
	wanted    string // the node that is to lead, and does not yet
	quiet     string // a leader that is cut off until it gives up, so that the wanted one can lead
}

func (r *room) isCut(from, to string) bool {
	return slices.Contains(r.parted, from) != slices.Contains(r.parted, to) || r.quiet != "" && (from == r.quiet || to == r.quiet)
}

func (r *room) Start(name string) (authority.Authority, []txlog.Record, uint64) {
	w := r.world
	i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.name == name })
	if i < 0 {
		m, _ := txlog.FindMember(w.genesis.Members, name)
		w.add(name, m.Store)
		i = len(w.nodes) - 1
		w.nodes[i].told = func(f authority.Fact) { r.facts[name] = append(r.facts[name], f) }
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
	if l := r.world.leader(); l == nil || l.name != name {
		r.suggested, r.wanted = name, name
	} // else the suite has not heard of it yet
}

// helps has the wanted member lead. Nobody votes for one that lacks entries, so it first gets them of the leader; then that
// leader is cut off, until it gives up.
func (r *room) helps() {
	l := r.world.leader()
	switch {
	case l == nil:
		r.quiet = ""
		if r.wanted != "" {
			r.world.node(r.wanted).step(Campaign{}) // else its pauses grow while it is cut off
		}
	case l.name == r.wanted:
		r.wanted, r.quiet = "", ""
	case r.wanted != "" && slices.Equal(hashes(l.toy.log), hashes(r.world.node(r.wanted).toy.log)):
		r.quiet = l.name
	default:
		r.quiet = ""
	}
}

func hashes(records []txlog.Record) (all []txlog.Hash) {
	for _, r := range records {
		all = append(all, r.Hash())
	}
	return all
}

func (r *room) Part(names ...string) { r.parted = names }

func (r *room) Facts(name string) []authority.Fact {
	w := r.world
	for _, n := range w.nodes {
		if n.m == nil {
			continue
		}
		if batch := r.asks[n.name].Take(); len(batch) > 0 {
			n.step(batch)
		}
		n.step(Suggested{Name: r.suggested})
	}
	r.helps()
	w.run(round / 4)
	told := r.facts[name]
	r.facts[name] = nil
	return told
}
