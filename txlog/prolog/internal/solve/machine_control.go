package solve

import (
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// step solves a goal: a part of a clause with its variables, or a term. Control constructs are looked at here, so that a cut in them is one of the clause.
func (m *Machine) step(goal term.Term, env []term.Term, cut int) (bool, error) {
	m.Budget.Spend(1)
	switch g := goal.(type) {
	case term.Slot:
		if env[g] == nil {
			env[g] = m.NewVar()
		}
		return calling(env[g])(m)
	case *term.Var: // its value came later than the goal
		return calling(g)(m)
	case term.Atom:
		switch g {
		case term.True:
			return true, nil
		case term.Fail, term.False:
			return false, nil
		case term.Cut:
			m.drop(cut)
			return true, nil
		}
		return m.call(ontology.Name{Atom: g}, nil)
	case *term.Compound:
		if len(g.Args) == 2 {
			if m.control(g, env, cut) {
				return true, nil
			}
		}
		args := g.Args
		if g.Open {
			m.Budget.Spend(len(g.Args))
			args = make([]term.Term, len(g.Args))
			for i, a := range g.Args {
				args[i] = m.build(a, env)
			}
		}
		return m.call(ontology.Name{Atom: g.Name, Arity: len(g.Args)}, args)
	}
	return false, typeError("callable", m.build(goal, env))
}

// control carries out a construct of two goals, if it is one.
func (m *Machine) control(g *term.Compound, env []term.Term, cut int) (known bool) {
	next, height := m.now, len(m.choices)
	goal := func(t term.Term, next *cont) *cont { return &cont{goal: t, env: env, cut: cut, next: next} }
	switch g.Name {
	case term.Comma:
		m.now = goal(g.Args[0], goal(g.Args[1], next))
	case term.Arrow: // without an else
		m.push(choice{next: next, gen: nothing})
		m.now = m.condition(g.Args[0], env, height, goal(g.Args[1], next))
	case term.SoftCut:
		m.now = &cont{goal: g.Args[0], env: env, cut: height, next: goal(g.Args[1], next)}
	case term.Semi:
		m.push(choice{alt: goal(g.Args[1], next)})
		c, is := g.Args[0].(*term.Compound)
		switch {
		case is && c.Name == term.Arrow && len(c.Args) == 2:
			m.now = m.condition(c.Args[0], env, height, goal(c.Args[1], next))
		case is && c.Name == term.SoftCut && len(c.Args) == 2:
			m.now = &cont{goal: c.Args[0], env: env, cut: len(m.choices), next: &cont{do: func(m *Machine) (bool, error) {
				m.choices[height].alt, m.choices[height].gen = nil, nothing
				return true, nil
			}, next: goal(c.Args[1], next)}}
		default:
			m.now = goal(g.Args[0], next)
		}
	default:
		return false
	}
	return true
}

// condition solves a goal once: then the choices that it has left, and those from a height on, are gone.
func (m *Machine) condition(goal term.Term, env []term.Term, height int, then *cont) *cont {
	return &cont{goal: goal, env: env, cut: len(m.choices), next: &cont{do: func(m *Machine) (bool, error) {
		m.drop(height)
		return true, nil
	}, next: then}}
}

// nothing is a generator without a solution: its choice only marks a place.
func nothing(*Machine) (found, more bool) { return false, false }

// try begins a generator, whose choice is left if there may be more.
func (m *Machine) try(gen generator) (bool, error) {
	m.push(choice{next: m.now, gen: gen})
	i := len(m.choices) - 1
	for {
		m.Budget.Spend(1)
		found, more := gen(m)
		if !more {
			m.drop(i)
		}
		if found || !more {
			return found, nil
		}
		m.undo(m.choices[i].trail)
	}
}

// calling calls a term. A cut in it is its own.
func calling(goal term.Term) func(m *Machine) (bool, error) {
	return func(m *Machine) (bool, error) {
		body, err := m.body(goal)
		if err != nil {
			return false, err
		}
		m.now = &cont{goal: body, cut: len(m.choices), next: m.now}
		return true, nil
	}
}

// body makes a body of a term: what is not known yet in its constructs will be called.
func (m *Machine) body(goal term.Term) (term.Term, error) {
	goal = m.deref(goal)
	if _, is := goal.(*term.Var); is {
		return nil, instantiation()
	}
	t, err := m.prepare(goal, 0)
	if ball, is := err.(*Ball); is && ball.Term == nil { //nolint:errorlint // nothing wraps it
		return nil, typeError("callable", goal)
	}
	return t, err
}

func isConstruct(t term.Term) (*term.Compound, bool) {
	c, is := t.(*term.Compound)
	return c, is && len(c.Args) == 2 && (c.Name == term.Comma || c.Name == term.Semi || c.Name == term.Arrow || c.Name == term.SoftCut)
}

// prepare follows the variables in constructs. An error without a term means that a number would be called.
func (m *Machine) prepare(t term.Term, deep int) (all term.Term, err error) {
	if deep > term.MostDeep {
		return nil, resource("depth")
	}
	for into := &all; ; {
		m.Budget.Spend(1)
		t = m.deref(t)
		switch t.(type) {
		case term.Int, term.Float:
			return nil, &Ball{}
		}
		c, is := isConstruct(t)
		if !is {
			*into = t
			return all, nil
		}
		made := term.Pair(c.Name, nil, nil)
		if made.Args[0], err = m.prepare(c.Args[0], deep+1); err != nil {
			return nil, err
		}
		*into, into, t = made, &made.Args[1], c.Args[1]
	}
}

func init() { //nolint:gochecknoinits // they call each other
	for arity := 1; arity <= 8; arity++ {
		define("call", arity, callN)
	}
	define("\\+", 1, notProvable)
	define("not", 1, notProvable)
	define("catch", 3, catching)
	define("throw", 1, throwing)
	define("findall", 3, findall)
	define("findall", 4, findall)
	define("forall", 2, forall)
	define("once", 1, once)
	define("ignore", 1, ignore)
	define("repeat", 0, func(m *Machine, _ []term.Term) (bool, error) {
		return m.try(func(*Machine) (found, more bool) { return true, true })
	})
}

func callN(m *Machine, args []term.Term) (bool, error) {
	goal, err := m.extend(args[0], args[1:])
	if err != nil {
		return false, err
	}
	return calling(goal)(m)
}

// extend adds arguments to a goal.
func (m *Machine) extend(goal term.Term, more []term.Term) (term.Term, error) {
	goal = m.deref(goal)
	if len(more) == 0 {
		return goal, nil
	}
	switch g := goal.(type) {
	case *term.Var:
		return nil, instantiation()
	case term.Atom:
		m.Budget.Spend(len(more))
		return &term.Compound{Name: g, Args: more}, nil
	case *term.Compound:
		m.Budget.Spend(len(g.Args) + len(more))
		return &term.Compound{Name: g.Name, Args: append(append(make([]term.Term, 0, len(g.Args)+len(more)), g.Args...), more...)}, nil
	}
	return nil, typeError("callable", goal)
}

func notProvable(m *Machine, args []term.Term) (bool, error) {
	height := len(m.choices)
	m.push(choice{alt: &cont{do: func(*Machine) (bool, error) { return true, nil }, next: m.now}})
	m.now = &cont{do: calling(args[0]), next: &cont{do: func(m *Machine) (bool, error) {
		m.drop(height)
		return false, nil
	}}}
	return true, nil
}

func once(m *Machine, args []term.Term) (bool, error) {
	height := len(m.choices)
	m.now = &cont{do: calling(args[0]), next: &cont{do: func(m *Machine) (bool, error) {
		m.drop(height)
		return true, nil
	}, next: m.now}}
	return true, nil
}

func ignore(m *Machine, args []term.Term) (bool, error) {
	height := len(m.choices)
	m.push(choice{alt: &cont{do: func(*Machine) (bool, error) { return true, nil }, next: m.now}})
	m.now = &cont{do: calling(args[0]), next: &cont{do: func(m *Machine) (bool, error) {
		m.drop(height)
		return true, nil
	}, next: m.now}}
	return true, nil
}

func forall(m *Machine, args []term.Term) (bool, error) {
	no := &term.Compound{Name: term.NewAtom("\\+"), Args: []term.Term{args[1]}}
	return notProvable(m, []term.Term{&term.Compound{Name: term.Comma, Args: []term.Term{args[0], no}}})
}

// catching calls a goal, and remembers what takes what it throws. That is over when the goal has a solution, and begins again when another one is looked for.
func catching(m *Machine, args []term.Term) (bool, error) {
	m.Budget.Spend(4)
	c := &catcher{ball: args[1], recovery: args[2], trail: len(m.trail), height: len(m.choices), mark: m.ids, next: m.now, parent: m.catch}
	m.catch = c
	m.mark = max(m.mark, m.ids)
	m.now = &cont{do: calling(args[0]), next: &cont{do: func(m *Machine) (bool, error) {
		m.catch = c.parent
		return true, nil
	}, next: m.now}}
	return true, nil
}

func throwing(m *Machine, args []term.Term) (bool, error) {
	ball, err := m.copy(args[0])
	if err != nil {
		return false, err
	}
	if _, is := ball.(*term.Var); is {
		return false, instantiation()
	}
	return false, &Ball{Term: ball}
}

// findall collects copies of a term, one for each solution of a goal.
func findall(m *Machine, args []term.Term) (bool, error) {
	if !m.isPartialList(args[2]) {
		return false, typeError("list", args[2])
	}
	end := term.Term(term.Nil)
	if len(args) == 4 {
		end = args[3]
	}
	var found []term.Term
	next := m.now
	m.push(choice{alt: &cont{do: func(m *Machine) (bool, error) {
		m.Budget.Spend(2 * len(found))
		return m.unify(args[2], term.ListWith(found, end)), nil
	}, next: next}})
	m.now = &cont{do: calling(args[1]), next: &cont{do: func(m *Machine) (bool, error) {
		t, err := m.copy(args[0])
		if err != nil {
			return false, err
		}
		m.Budget.Spend(2)
		found = append(found, t)
		return false, nil
	}}}
	return true, nil
}
