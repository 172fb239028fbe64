package solve

import (
	"slices"

	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

type pair struct{ a, b term.Term }

// unify makes two terms equal, and reports whether it can be done. What it has bound when it cannot, the caller undoes.
func (m *Machine) unify(x, y term.Term) bool {
	var room [8]pair
	for rest := append(room[:0], pair{x, y}); len(rest) > 0; {
		m.Budget.Spend(1)
		last := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		x, y = m.deref(last.a), m.deref(last.b)
		v, is := x.(*term.Var)
		w, both := y.(*term.Var)
		switch {
		case is && both:
			switch {
			case v == w:
			case v.ID > w.ID:
				m.bind(v, w)
			default:
				m.bind(w, v)
			}
			continue
		case is:
			m.bind(v, y)
			continue
		case both:
			m.bind(w, x)
			continue
		}
		c, is := x.(*term.Compound)
		d, both := y.(*term.Compound)
		switch {
		case !is || !both:
			if is || both || x != y {
				return false
			}
			continue
		case c == d:
			continue
		case c.Name != d.Name || len(c.Args) != len(d.Args):
			return false
		}
		m.Budget.Spend(len(c.Args) / 4)
		for i, v := range slices.Backward(c.Args) {
			rest = append(rest, pair{v, d.Args[i]})
		}
	}
	return true
}

// heads unifies the arguments of a clause's head with those of a goal.
func (m *Machine) heads(of, args []term.Term, env []term.Term) bool {
	for i, p := range of {
		if !m.head(p, args[i], env) {
			return false
		}
	}
	return true
}

// head unifies a part of a clause with a term. It recurses as deep as a clause is, which is limited.
func (m *Machine) head(p, t term.Term, env []term.Term) bool {
	for {
		m.Budget.Spend(1)
		switch of := p.(type) {
		case term.Slot:
			if env[of] == nil {
				env[of] = t
				return true
			}
			return m.unify(env[of], t)
		case *term.Compound:
			t = m.deref(t)
			if v, is := t.(*term.Var); is {
				m.bind(v, m.build(of, env))
				return true
			}
			if !of.Open {
				return m.unify(of, t)
			}
			c, is := t.(*term.Compound)
			if !is || c.Name != of.Name || len(c.Args) != len(of.Args) {
				return false
			}
			last := len(of.Args) - 1
			for i, a := range of.Args[:last] {
				if !m.head(a, c.Args[i], env) {
					return false
				}
			}
			p, t = of.Args[last], c.Args[last]
		default:
			switch t := m.deref(t).(type) {
			case *term.Var:
				m.bind(t, p)
				return true
			case *term.Compound:
				return false
			default:
				return p == t
			}
		}
	}
}

// build makes a term of a part of a clause. It recurses as deep as a clause is, which is limited.
func (m *Machine) build(p term.Term, env []term.Term) (all term.Term) {
	for into := &all; ; {
		switch of := p.(type) {
		case term.Slot:
			if env[of] == nil {
				env[of] = m.NewVar()
			}
			*into = m.deref(env[of])
			return all
		case *term.Compound:
			if !of.Open {
				*into = of
				return all
			}
			m.Budget.Spend(1 + len(of.Args))
			c := term.Blank(of.Name, len(of.Args))
			last := len(of.Args) - 1
			for i, a := range of.Args[:last] {
				c.Args[i] = m.build(a, env)
			}
			*into, into, p = c, &c.Args[last], of.Args[last]
		default:
			*into = p
			return all
		}
	}
}

// copier copies terms, with new variables.
type copier struct {
	m    *Machine
	vars map[*term.Var]term.Term
}

// copy returns a term with variables of its own. A part without variables is shared. The error is a *Ball: it is too deep.
func (m *Machine) copy(t term.Term) (term.Term, error) {
	c := copier{m, map[*term.Var]term.Term{}}
	return c.term(t, 0)
}

func (c *copier) term(t term.Term, deep int) (all term.Term, err error) {
	if deep > term.MostDeep {
		return nil, resource("depth")
	}
	type link struct{ of, is *term.Compound }
	var spine []link
	for {
		c.m.Budget.Spend(1)
		t = c.m.deref(t)
		of, is := t.(*term.Compound)
		if !is {
			break
		}
		c.m.Budget.Spend(len(of.Args))
		made := term.Blank(of.Name, len(of.Args))
		last := len(of.Args) - 1
		for i, a := range of.Args[:last] {
			if made.Args[i], err = c.term(a, deep+1); err != nil {
				return nil, err
			}
		}
		spine = append(spine, link{of, made})
		t = of.Args[last]
	}
	all = t
	if v, is := t.(*term.Var); is {
		if all = c.vars[v]; all == nil {
			all = c.m.NewVar()
			c.vars[v] = all
		}
	}
	for _, l := range slices.Backward(spine) {
		l.is.Args[len(l.is.Args)-1] = all
		if all = l.is; sharedParts(l.of, l.is) {
			all = l.of
		}
	}
	return all, nil
}

// sharedParts reports whether a copy has the very parts of what it is of.
func sharedParts(of, is *term.Compound) bool {
	for i := range of.Args {
		if of.Args[i] != is.Args[i] {
			return false
		}
	}
	return true
}

// Vars returns the variables of a term in the order of their first occurrences.
func (m *Machine) Vars(t term.Term) (all []*term.Var) {
	seen := map[*term.Var]bool{}
	for rest := []term.Term{t}; len(rest) > 0; {
		m.Budget.Spend(1)
		t := m.deref(rest[len(rest)-1])
		rest = rest[:len(rest)-1]
		switch t := t.(type) {
		case *term.Var:
			if !seen[t] {
				m.Budget.Spend(2)
				seen[t] = true
				all = append(all, t)
			}
		case *term.Compound:
			m.Budget.Spend(len(t.Args) / 2)
			for _, v := range slices.Backward(t.Args) {
				rest = append(rest, v)
			}
		}
	}
	return all
}

func nameOf(t term.Term) ontology.Name {
	switch t := t.(type) {
	case term.Atom:
		return ontology.Name{Atom: t}
	case *term.Compound:
		return ontology.Name{Atom: t.Name, Arity: len(t.Args)}
	}
	return ontology.Name{}
}
