package swarm

import (
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// replacements finds how long the others took to name another leader than the one that was killed.
func (j *judge) replacements() {
	var took []time.Duration
	for _, k := range j.Kills {
		last, dead := time.Duration(0), j.Lives[k.Life].Node
		for life, l := range j.Lives {
			if life == k.Life || !l.lives(k.At, k.At) {
				continue
			}
			at, renamed := j.renames(life, dead, k.At)
			if !renamed && l.lives(k.At, j.Ended) && k.At+j.Timing.Settle <= j.Ended {
				j.violates("%s was killed at %s, and %s never named another", dead, short(k.At), l.Node)
			}
			last = max(last, at)
		}
		if last > 0 {
			took = append(took, last-k.At)
		}
	}
	j.v.Replaced = evidence.SpreadOf(took)
	for _, d := range took {
		j.v.ReplacedEach = append(j.v.ReplacedEach, ms(d))
	}
}

// renames returns when a process first named another leader after one had died.
func (j *judge) renames(life int, dead string, after time.Duration) (at time.Duration, does bool) {
	_, names := j.silence(life, after, after)
	if names != "" && names != dead {
		return after, true
	}
	for _, v := range j.Views {
		if v.Life == life && v.At >= after && v.At <= j.Ended && v.Leader != "" && v.Leader != dead {
			return v.At, true
		}
	}
	return 0, false
}

// silences finds how long the nodes took that were cut off from most of the electors, to name nobody any more.
func (j *judge) silences() {
	var took []time.Duration
	for _, c := range j.Cuts {
		to := c.To
		if to == 0 {
			to = j.Ended
		}
		last := c.From
		for life, l := range j.Lives {
			if !c.Side[l.Node] || !l.lives(c.From, to) {
				continue
			}
			at, names := j.silence(life, c.From, to)
			if names != "" && to-c.From > j.believed() {
				j.violates("%s was cut off from most of the electors for %s, and named %s to the end", l.Node, short(to-c.From), names)
			}
			last = max(last, at)
		}
		took = append(took, last-c.From)
	}
	j.v.Silent = evidence.SpreadOf(took)
}

// silence returns what a process named at the end of a time, and since when it has named that.
func (j *judge) silence(life int, from, to time.Duration) (since time.Duration, names string) {
	since = from
	for _, v := range j.Views {
		switch {
		case v.Life != life || v.At > to:
		case v.At <= from:
			names = v.Leader
		case v.Leader != names:
			since, names = v.At, v.Leader
		}
	}
	return since, names
}

// news compares what was told with what was heard.
func (j *judge) news() {
	type where struct {
		life  int
		topic string
	}
	heard, at := map[where]int{}, map[where]time.Duration{}
	for _, h := range j.Heard {
		w := where{h.Life, h.Topic}
		if heard[w]++; heard[w] == 1 {
			at[w] = h.At
		}
		if heard[w] == 2 {
			j.v.Doubled++
			j.violates("%s heard %q twice", j.Lives[h.Life].Node, h.Topic)
		}
	}
	joined := j.joined()
	var took []time.Duration
	for _, p := range j.Pieces {
		var without []string
		for life, l := range j.Lives {
			w := where{life, p.Topic}
			switch {
			case life == p.Life || !j.owes(p, life, joined):
			case heard[w] > 0:
				took = append(took, at[w]-p.At)
			default:
				without = append(without, l.Node)
			}
		}
		if j.v.Lost += len(without); len(without) > 0 {
			j.violates("%q of %s was never heard by %s", p.Topic, j.Lives[p.Life].Node, strings.Join(without, ", "))
		}
	}
	j.v.Heard, j.v.NewsTook = len(took), evidence.SpreadOf(took)
}

// joined returns when each process first named a leader: then it is one of the crowd.
func (j *judge) joined() map[int]time.Duration {
	all := map[int]time.Duration{}
	for _, v := range j.Views {
		if _, known := all[v.Life]; !known && v.Leader != "" {
			all[v.Life] = v.At
		}
	}
	return all
}

// owes reports whether a process has to hear a piece: it was there before, and it and the publisher lived on and were not
// cut apart, for as long as news takes.
func (j *judge) owes(p Piece, life int, joined map[int]time.Duration) bool {
	to := p.At + j.Timing.Settle
	since, in := joined[life]
	if !in || since > p.At || to > j.Ended || !j.Lives[life].lives(p.At, to) || !j.Lives[p.Life].lives(p.At, to) {
		return false
	}
	for _, c := range j.Cuts {
		apart := c.Side[j.Lives[life].Node] != c.Side[j.Lives[p.Life].Node]
		if apart && c.From < to && (c.To == 0 || c.To > p.At) {
			return false
		}
	}
	return true
}
