package member

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
)

// goal is one that somebody waits for.
type goal struct {
	txlog.Goal

	ticket uint64
	order  uint64 // in which they came
	came   time.Duration
}

// goals are those that are not answered: they wait to be executed, or are in an entry that is not committed.
type goals struct {
	waiting []*goal
	flight  map[string][]*goal // by id
	count   int
	came    uint64
}

func (g *goals) add(of *goal) {
	g.came++
	of.order = g.came
	g.waiting = append(g.waiting, of)
	g.count++
}

// next takes the first one that waits, which is in flight or is answered then.
func (g *goals) next() *goal {
	of := g.waiting[0]
	g.waiting[0] = nil
	g.waiting = g.waiting[1:]
	return of
}

func (g *goals) fly(of *goal) { g.flight[of.ID] = append(g.flight[of.ID], of) }

// again puts one back that was the next.
func (g *goals) again(of *goal) { g.waiting = append([]*goal{of}, g.waiting...) }

// of takes out those with an id: in flight, and those that wait too if they are asked for.
func (g *goals) of(id string, waiting bool) []*goal {
	all := g.flight[id]
	delete(g.flight, id)
	g.count -= len(all)
	if !waiting || len(g.waiting) == 0 {
		return all
	}
	before := len(all)
	g.waiting = slices.DeleteFunc(g.waiting, func(of *goal) bool {
		if of.ID == id {
			all = append(all, of)
		}
		return of.ID == id
	})
	g.count -= len(all) - before
	return all
}

// land has those in flight wait again, in the order in which they came.
func (g *goals) land() {
	for _, all := range g.flight {
		g.waiting = append(g.waiting, all...)
	}
	clear(g.flight)
	slices.SortFunc(g.waiting, func(a, b *goal) int { return cmp.Compare(a.order, b.order) })
}

// all takes out those that wait.
func (g *goals) all() []*goal {
	all := g.waiting
	g.count -= len(all)
	g.waiting = nil
	return all
}

// old takes out those that wait and have come before a time.
func (g *goals) old(before time.Duration) (all []*goal) {
	g.waiting = slices.DeleteFunc(g.waiting, func(of *goal) bool {
		if of.came < before {
			all = append(all, of)
		}
		return of.came < before
	})
	g.count -= len(all)
	return all
}

// ids returns the ids of all, sorted.
func (g *goals) ids() []string {
	ids := slices.Collect(maps.Keys(g.flight))
	for _, of := range g.waiting {
		ids = append(ids, of.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// drop takes out the one with a ticket.
func (g *goals) drop(ticket uint64) {
	is := func(of *goal) bool { return of.ticket == ticket }
	before := len(g.waiting)
	g.waiting = slices.DeleteFunc(g.waiting, is)
	g.count -= before - len(g.waiting)
	for id, all := range g.flight {
		left := slices.DeleteFunc(all, is)
		if g.count -= len(all) - len(left); len(left) == 0 {
			delete(g.flight, id)
		} else {
			g.flight[id] = left
		}
	}
}
