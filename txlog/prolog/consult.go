package prolog

import (
	"errors"
	"slices"
	"strconv"

	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/solve"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// directives are what a file may say beside clauses.
var directives = []ontology.Name{
	{Atom: term.NewAtom("dynamic"), Arity: 1}, {Atom: term.NewAtom("discontiguous"), Arity: 1}, {Atom: term.NewAtom("op"), Arity: 3},
	{Atom: term.NewAtom("set_prolog_flag"), Arity: 2}, {Atom: term.NewAtom("ensure_loaded"), Arity: 1},
}

// file is a text of clauses that is being loaded.
type file struct {
	m       *solve.Machine
	r       *syntax.Reader
	reverse bool
	seen    map[ontology.Name]bool // what the file defines
	count   int
}

// consult loads a file: each predicate that it defines has its clauses afterwards, and no others, so that twice is once. Half of a file is never loaded.
func consult(m *solve.Machine, text string, reverse bool) ([]byte, error) {
	f := file{m: m, reverse: reverse, seen: map[ontology.Name]bool{}}
	f.r = syntax.NewReader(m.Budget, text, m.Draft.Ops(), m.Quotes(), m.NewVar)
	for {
		f.r.Ops, f.r.Quotes = m.Draft.Ops(), m.Quotes()
		t, _, err := f.r.Read(false)
		if err != nil {
			return nil, bad(err.Error())
		}
		if t == nil {
			break
		}
		if err := f.take(t); err != nil {
			return nil, err
		}
	}
	return []byte(`{"clauses":` + strconv.Itoa(f.count) + `,"predicates":` + strconv.Itoa(len(f.seen)) + `}`), nil
}

// take loads a clause, or does what a directive says.
func (f *file) take(t term.Term) error {
	c, is := t.(*term.Compound)
	switch {
	case is && c.Name == term.Neck && len(c.Args) == 1:
		return f.directive(c.Args[0])
	case is && c.Name.Name() == "?-" && len(c.Args) == 1:
		return f.fault("a file has no queries: submit it as a goal")
	case is && c.Name.Name() == "-->" && len(c.Args) == 2:
		made := f.m.NewVar()
		rule := term.New("dcg_translate_rule", t, made)
		if is, err := f.m.Solve(rule); err != nil || !is {
			return f.fault("this is no grammar rule")
		}
		t = term.Deref(f.m.Budget, made)
	}
	n, is := f.m.NameOf(t)
	if is && !f.seen[n] {
		f.seen[n] = true
		f.m.Draft.Clear(n)
	}
	if err := f.m.Add(t, f.reverse); err != nil {
		return f.fault(describe(f.m.Budget, f.m.Draft.Ops(), ballOf(err)))
	}
	f.count++
	return nil
}

func ballOf(err error) term.Term {
	if ball, is := errors.AsType[*solve.Ball](err); is {
		return ball.Term
	}
	return term.NewAtom(err.Error())
}

func (f *file) directive(t term.Term) error {
	name := ontology.Name{}
	switch t := t.(type) {
	case term.Atom:
		name.Atom = t
	case *term.Compound:
		name = ontology.Name{Atom: t.Name, Arity: len(t.Args)}
	default:
		return f.fault("this is no directive")
	}
	if !slices.Contains(directives, name) {
		return f.fault("the directive " + syntax.Quote(name.Atom.Name()) + "/" + strconv.Itoa(name.Arity) + " is none of a log: it may be dynamic/1, discontiguous/1, op/3 or set_prolog_flag/2. Submit what is to be done as a goal")
	}
	if name.Atom.Name() == "ensure_loaded" { // of a library, which is there
		return nil
	}
	is, err := f.m.Solve(t)
	switch {
	case err != nil:
		return f.fault(describe(f.m.Budget, f.m.Draft.Ops(), ballOf(err)))
	case !is:
		return f.fault("the directive fails")
	}
	return nil
}

// fault says where in the file something is wrong.
func (f *file) fault(why string) error { return bad(f.r.At(why).Error()) }
