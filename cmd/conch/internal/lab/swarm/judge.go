package swarm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Judge gives the verdict on a record. It is pure.
func Judge(r Record) Verdict {
	j := &judge{Record: r, v: Verdict{
		Nodes: r.Nodes, Electors: r.Electors, Kills: len(r.Kills), Crashed: r.Crashed, Partitions: len(r.Cuts),
		News: len(r.Pieces), Late: ms(r.Late), ReplacedEach: []float64{}, Violations: []string{},
	}}
	j.Views = slices.Clone(r.Views)
	slices.SortStableFunc(j.Views, func(a, b View) int { return cmp.Compare(a.At, b.At) })
	for _, f := range r.Falls {
		j.violates("%s ended by itself at %s: %s", r.Lives[f.Life].Node, short(f.At), cmp.Or(f.Words, "it said nothing"))
	}
	j.replay()
	j.replacements()
	j.silences()
	j.news()
	return j.v
}

// judge is one judgement.
type judge struct {
	Record

	v     Verdict
	board board
	cold  bool            // all have agreed once
	cut   *Cut            // that lasts
	works map[int]bool    // the lives of leaders that all had agreed on
	named span            // more than one leader is named
	led   span            // more than one names itself
	heals []time.Duration // cuts that are healed, and after which not all have agreed yet
	took  []time.Duration // until they had
}

// span is a state that comes and goes.
type span struct {
	since   time.Duration
	lasts   bool
	longest time.Duration
}

func (s *span) note(is bool, at time.Duration) {
	if s.lasts {
		s.longest = max(s.longest, at-s.since)
	}
	if is && !s.lasts {
		s.since = at
	}
	s.lasts = is
}

// happening is one event of the record, in the order of time.
type happening struct {
	at time.Duration
	do func(at time.Duration)
}

// happenings puts the record in order. At one instant a process ends before another begins, and is cut off before it names.
func (j *judge) happenings() (all []happening) {
	add := func(at time.Duration, do func(time.Duration)) {
		if at <= j.Ended {
			all = append(all, happening{at, do})
		}
	}
	for i, l := range j.Lives {
		if l.To > 0 {
			add(l.To, func(time.Duration) { j.board.end(i); delete(j.works, i) })
		}
	}
	for i, l := range j.Lives {
		add(l.From, func(time.Duration) { j.board.begin(i, l.Node) })
	}
	for i := range j.Cuts {
		c := &j.Cuts[i]
		add(c.From, func(time.Duration) { j.cut = c })
		if c.To > 0 {
			add(c.To, func(at time.Duration) { j.cut, j.heals = nil, append(j.heals, at) })
		}
	}
	for _, v := range j.Views {
		add(v.At, func(time.Duration) { j.see(v) })
	}
	slices.SortStableFunc(all, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	return all
}

// replay goes through what happened, and looks at what all name after each event.
func (j *judge) replay() {
	j.board, j.works = newBoard(), map[int]bool{}
	for _, h := range j.happenings() {
		h.do(h.at)
		j.look(h.at)
	}
	j.look(j.Ended)
	j.v.TwoNamed, j.v.TwoLed = ms(j.named.longest), ms(j.led.longest)
	if most := j.believed(); j.named.longest > most {
		j.violates("two leaders were named for %s, longer than a node may believe in one that it does not hear (%s)", short(j.named.longest), short(most))
	}
	if most := j.Timing.Validity + j.Late; j.led.longest > most {
		j.violates("two led at one time for %s, longer than a validity (%s)", short(j.led.longest), short(most))
	}
	if !j.cold {
		j.violates("the nodes never named one leader")
	}
	j.v.Healed = evidence.SpreadOf(j.took)
	if by, all := j.board.agreed(nil); all {
		j.v.Leader = by.leader
	} else if j.cold {
		j.violates("in the end the nodes do not agree: %s", spoken(j.board.counts()))
	}
}

// look judges one instant.
func (j *judge) look(at time.Duration) {
	j.named.note(j.board.leaders() > 1, at)
	leads := j.board.leads()
	j.led.note(len(leads) > 1, at)
	by, all := j.board.agreed(j.main())
	if !all || j.board.living() < j.Nodes && !j.cold {
		return
	}
	if !j.cold {
		j.cold, j.v.Cold = true, ms(at-j.Began)
		j.v.ColdRounds = float64((at-j.Began)*10/max(j.Timing.Round, 1)) / 10
	}
	if j.cut == nil {
		for _, healed := range j.heals {
			j.took = append(j.took, at-healed)
		}
		j.heals = nil
	}
	for _, life := range leads {
		j.works[life] = j.Lives[life].Node == by.leader
	}
}

// main picks the nodes that have to agree: all, or those on the side with most of the electors.
func (j *judge) main() func(string) bool {
	if j.cut == nil {
		return nil
	}
	side := j.cut.Side
	return func(node string) bool { return !side[node] }
}

// see takes a view. A leader that all had agreed on, that lives and was not cut off from most of the electors leads on.
func (j *judge) see(v View) {
	j.board.see(v)
	node := j.Lives[v.Life].Node
	if !j.works[v.Life] || v.Leader == node {
		return
	}
	delete(j.works, v.Life)
	if j.cut != nil && j.cut.Side[node] {
		return
	}
	j.v.Deposed++
	j.violates("%s led and worked, and at %s named %s in reign %d", node, short(v.At), somebody(v.Leader), v.reign)
}

// believed returns for how long a node may name a leader that does not lead any more. A heartbeat has an age, which counts the time that it
// was with each relay, and not the time that it was on the way to it. On a busy machine each relay reads it as late as the demo
// was at most, and so does the last node, which also finds late that it has heard nothing since.
func (j *judge) believed() time.Duration {
	return j.Timing.Believed + time.Duration(j.Timing.Relays+1)*j.Late
}

func (j *judge) violates(text string, args ...any) {
	j.v.Violations = append(j.v.Violations, fmt.Sprintf(text, args...))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()/100) / 10 }

func short(d time.Duration) string { return d.Round(time.Millisecond).String() }

func somebody(leader string) string { return cmp.Or(leader, "nobody") }

// spoken says how many name whom, the most frequent first.
func spoken(counts map[string]int) string {
	type one struct {
		leader string
		n      int
	}
	var all []one
	for leader, n := range counts {
		all = append(all, one{leader, n})
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.leader, b.leader)) })
	var said []string
	for _, o := range all {
		said = append(said, fmt.Sprintf("%d name %s", o.n, somebody(o.leader)))
	}
	return strings.Join(said, ", ")
}
