package story

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// The words with which lines are built, in every world.
const (
	at     = "at"     // TIME, and what happens then
	run    = "run"    // TIME
	expect = "expect" // a fact
	within = "within" // TIME: the fact has to hold by then
	during = "for"    // TIME: a fact has to hold until then; what happens ends then
	call   = "call"   // NODE NAME
)

// The words for nodes.
const (
	leader = "leader"
	all    = "all"
	others = "others" // all but the leader
)

// common are the words of every world.
func common(w World) []Word {
	link := func(do func(Link) error, oneWay bool) func(Args) error {
		return func(a Args) error { return do(linkOf(w, a, oneWay)) }
	}
	back := func(do func(Args) error) func(Args) error {
		return func(a Args) error { return do(Args{Nodes: a.Places, Places: a.Nodes}) }
	}
	return []Word{
		{Form: "kill NODES", What: "the process dies at once", Runs: true, Do: Each(w, kill), Undo: Each(w, Start)},
		{Form: "start NODES", What: "a process that was killed starts again", Do: Each(w, Start)},
		{Form: "freeze NODES", What: "the process stands still, as by SIGSTOP", Runs: true, Do: Each(w, freeze), Undo: Each(w, thaw)},
		{Form: "thaw NODES", What: "it goes on, with its old state", Runs: true, Do: Each(w, thaw)},
		{Form: "cut NODES [from PLACES]", What: "nothing gets from one to the other, nor back; without places: to any other", Do: link(w.Cut, false), Undo: link(w.Heal, false)},
		{Form: "cut NODES to PLACES", What: "nothing gets there; back it does", Do: link(w.Cut, true), Undo: link(w.Heal, true)},
		{Form: "cut PLACES to NODES", What: "the same, from a place that is no node", Do: back(link(w.Cut, true)), Undo: back(link(w.Heal, true))},
		{Form: "heal [NODES] [from PLACES]", What: "what was cut is whole again; without nodes: all", Do: link(w.Heal, false)},
	}
}

// Each does something with each node of a line.
func Each(w World, do func(Node) error) func(Args) error {
	return func(a Args) error {
		for _, name := range a.Nodes {
			if err := do(w.Node(name)); err != nil {
				return fmt.Errorf("%s %w", name, err)
			}
		}
		return nil
	}
}

func kill(n Node) error {
	n.Kill()
	return nil
}

// Start starts a node that does not run.
func Start(n Node) error {
	if n.Runs() {
		return errors.New("runs")
	}
	n.Start()
	return nil
}

func freeze(n Node) error {
	if n.Stands() {
		return errors.New("stands still already")
	}
	return n.Freeze()
}

func thaw(n Node) error {
	if !n.Stands() {
		return errors.New("does not stand still")
	}
	n.Thaw()
	return nil
}

// linkOf is the link that a line names.
func linkOf(w World, a Args, oneWay bool) Link {
	l := Link{Nodes: a.Nodes, Places: a.Places, OneWay: oneWay}
	everything := slices.Concat(w.Nodes(), w.Places())
	if len(l.Nodes) == 0 {
		return Link{Nodes: w.Nodes(), Places: everything, Whole: true}
	}
	isOne := func(name string) bool { return slices.Contains(l.Nodes, name) }
	l.Places = slices.DeleteFunc(slices.Clone(l.Places), isOne)
	rest := slices.DeleteFunc(everything, isOne)
	if len(a.Places) == 0 {
		l.Places = rest
	}
	l.Whole = len(l.Places) == len(rest)
	return l
}

// facts are those of every world.
func (p *play) facts() []Fact {
	leads := func() string {
		if n := p.w.Leader(); n != "" {
			return n + " leads"
		}
		return "nobody leads"
	}
	return []Fact{
		{"leader [NODE]", "somebody leads, or that node does", func(a Args) (bool, string) {
			now := p.w.Leader()
			return now != "" && (len(a.Nodes) == 0 || now == a.Node()), leads()
		}},
		{"another leader", "a node leads that is not the one for which leader stood last", func(Args) (bool, string) {
			now := p.w.Leader()
			return now != "" && now != p.meant, leads()
		}},
		{"no leader", "nobody leads", func(Args) (bool, string) { return p.w.Leader() == "", leads() }},
	}
}

// ending takes a word with a time from the end of a line; the word is empty if there is none.
func ending(words []string, allowed ...string) (left []string, word string, d time.Duration, err error) {
	if n := len(words); n > 1 && slices.Contains(allowed, words[n-2]) {
		if d, err = time.ParseDuration(words[n-1]); err != nil || d <= 0 {
			return nil, "", 0, fmt.Errorf("%q is no time: it is one such as 300ms or 5s", words[n-1])
		}
		return words[:n-2], words[n-2], d, nil
	}
	return words, "", 0, nil
}
