package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (p *play) compileWord(number int, words []string) (func() bool, error) {
	known := append(common(p.w), p.w.Words()...)
	var forms []string
	for _, w := range known {
		forms = append(forms, w.Form)
	}
	for _, s := range p.kind.Settings {
		forms = append(forms, s.Form)
	}
	forms = append(forms, at+" "+span, run+" "+span, expect+" "+rest, call+" "+oneNode) // that may be misspelt
	words, ends, lasts, err := ending(words, during)
	if err != nil {
		return nil, err
	}
	i, args, err := p.reader(words).pick("word", forms)
	if err != nil {
		return nil, err
	}
	word := known[i]
	switch args.For = lasts; {
	case ends != "" && word.Undo == nil && !word.Lasts:
		return nil, fmt.Errorf("%q has no end: leave %q out", word.Form, during)
	case ends == "" && word.Lasts:
		return nil, fmt.Errorf("TIME is missing (%s for TIME)", word.Form)
	}
	return func() bool {
		args, ok := p.resolve(number, args)
		return ok && p.happens(number, word, args)
	}, nil
}

// happens has something happen, and end after a time if one is given. By then something else may have ended it.
func (p *play) happens(number int, word Word, args Args) bool {
	if i := slices.IndexFunc(args.Nodes, func(n string) bool { return word.Runs && !p.w.Node(n).Runs() }); i >= 0 {
		return p.fails(number, "%s does not run", args.Nodes[i])
	}
	if err := word.Do(args); err != nil {
		return p.fails(number, "%v", err)
	}
	if word.Undo != nil && args.For > 0 {
		p.w.After(args.For, func() { _ = word.Undo(args) })
	}
	return true
}

func (p *play) compileFact(number int, words []string) (func() bool, error) {
	known := append(p.facts(), p.w.Facts()...)
	var forms []string
	for _, f := range known {
		forms = append(forms, f.Form)
	}
	wanted := strings.Join(words, " ")
	words, how, d, err := ending(words, within, during)
	if err != nil {
		return nil, err
	}
	i, args, err := p.reader(words).pick("fact", forms)
	if err != nil {
		return nil, err
	}
	return func() bool {
		args, ok := p.resolve(number, args)
		return ok && p.expects(number, wanted, func() (bool, string) { return known[i].Holds(args) }, how, d)
	}, nil
}

// expects wants a fact to hold now, within a time, or for one.
func (p *play) expects(number int, wanted string, holds func() (bool, string), how string, d time.Duration) bool {
	over := d == 0
	p.w.After(d, func() { over = true })
	for {
		is, instead := holds()
		switch {
		case is && (how != during || over):
			return true
		case !is && (how != within || over):
			return p.fails(number, "expected %s, and %s", wanted, instead)
		case !p.w.Step():
			return false
		}
	}
}

// until lets time pass up to an instant: all that comes before it has happened.
func (p *play) until(when time.Duration) bool {
	over := false
	p.w.After(when-p.w.Now(), func() { over = true })
	for !over {
		if !p.w.Step() {
			return false
		}
	}
	return true
}

// fails ends the story at a line.
func (p *play) fails(number int, what string, args ...any) bool {
	p.w.Violated(Expected, fmt.Sprintf("%s:%d: %s", p.file, number, fmt.Sprintf(what, args...)))
	return false
}

// reader reads words that may name the nodes of the world.
func (p *play) reader(words []string) *reader {
	names := append(p.w.Nodes(), leader)
	for i := range p.w.Nodes() {
		names = append(names, fmt.Sprint("n", i+1))
	}
	return &reader{words: words, nodes: append(names, slices.Sorted(maps.Keys(p.named))...), crowd: []string{all, others}, sites: p.w.Places()}
}

// resolve finds the nodes that a line means now. It is false if nobody leads, and the line is about who does.
func (p *play) resolve(number int, a Args) (Args, bool) {
	for _, names := range []*[]string{&a.Nodes, &a.Places} {
		var found []string
		for _, name := range *names {
			nodes := p.means(name)
			if len(nodes) == 0 {
				return a, p.fails(number, "nobody leads")
			}
			found = append(found, nodes...)
		}
		*names = found
	}
	return a, true
}

func (p *play) means(name string) []string {
	nodes, now := p.w.Nodes(), p.w.Leader()
	switch {
	case name == all:
		return nodes
	case (name == leader || name == others) && now == "":
		return nil
	case name == leader:
		p.meant = now
		return []string{now}
	case name == others:
		return slices.DeleteFunc(nodes, func(n string) bool { return n == now })
	case p.named[name] != "":
		return []string{p.named[name]}
	}
	for i, n := range nodes {
		if fmt.Sprint("n", i+1) == name {
			return []string{n}
		}
	}
	return []string{name}
}
