package solve

import (
	"errors"

	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

func init() { //nolint:gochecknoinits // a table
	for _, name := range []string{"assertz", "assert"} {
		define(name, 1, func(m *Machine, a []term.Term) (bool, error) { return m.assert(a[0], false) })
	}
	define("asserta", 1, func(m *Machine, a []term.Term) (bool, error) { return m.assert(a[0], true) })
	define("retract", 1, retract)
	define("retractall", 1, retractAll)
	define("clause", 2, clause)
	define("abolish", 1, abolish)
	define("dynamic", 1, func(m *Machine, a []term.Term) (bool, error) { return m.declare(a[0]) })
	define("discontiguous", 1, func(m *Machine, a []term.Term) (bool, error) { return m.declare(a[0]) })
	define("current_predicate", 1, currentPredicate)
	define("predicate_property", 2, predicateProperty)
}

// Static reports whether no goal may define a predicate.
func Static(n ontology.Name) bool {
	if _, is := builtins[n]; is {
		return true
	}
	switch n.Atom {
	case term.Cut, term.True, term.Fail, term.False:
		return n.Arity == 0
	case term.Comma, term.Semi, term.Arrow, term.SoftCut, term.Neck:
		return n.Arity == 2
	}
	return false
}

// split returns the head and the body of a clause.
func (m *Machine) split(t term.Term) (head, body term.Term, err error) {
	t = m.deref(t)
	head, body = t, term.Term(term.True)
	if c, is := t.(*term.Compound); is && c.Name == term.Neck && len(c.Args) == 2 {
		head, body = m.deref(c.Args[0]), m.deref(c.Args[1])
	}
	switch {
	case isVar(head):
		return nil, nil, instantiation()
	case !term.Callable(head):
		return nil, nil, typeError("callable", head)
	}
	return head, body, nil
}

// changeable returns the name of a predicate that a goal may change.
func (m *Machine) changeable(head term.Term) (ontology.Name, error) {
	n := nameOf(head)
	switch {
	case m.ReadOnly:
		return n, permission("modify", "query", indicator(n))
	case Static(n):
		return n, permission("modify", "static_procedure", indicator(n))
	case len(n.Atom.Name()) > ontology.MostName || n.Arity > term.MostArity:
		return n, representation("predicate_name")
	}
	return n, nil
}

func argsOf(t term.Term) []term.Term {
	if c, is := t.(*term.Compound); is {
		return c.Args
	}
	return nil
}

// assert adds a clause.
func (m *Machine) assert(t term.Term, first bool) (bool, error) {
	n, raw, err := m.encode(t)
	if err != nil {
		return false, err
	}
	if first {
		m.Draft.Prepend(n, raw)
	} else {
		m.Draft.Append(n, raw)
	}
	return true, nil
}

// encode returns the bytes of a clause that may be stored.
func (m *Machine) encode(t term.Term) (n ontology.Name, raw string, err error) {
	head, body, err := m.split(t)
	if err != nil {
		return n, "", err
	}
	if !isVar(body) {
		prepared, err := m.prepare(body, 0)
		if ball, is := err.(*Ball); is && ball.Term == nil { //nolint:errorlint // nothing wraps it
			return n, "", typeError("callable", body)
		}
		if err != nil {
			return n, "", err
		}
		body = prepared
	}
	if n, err = m.changeable(head); err != nil {
		return n, "", err
	}
	bytes, err := term.Encode(m.Budget, argsOf(head), body)
	switch {
	case errors.Is(err, term.ErrLarge):
		return n, "", resource("clause_size")
	case errors.Is(err, term.ErrDeep):
		return n, "", resource("clause_depth")
	case err != nil:
		return n, "", evaluation("undefined")
	}
	return n, string(bytes), nil
}

// Add adds a clause, as assertz/1 and asserta/1 do: for files. The error is a *Ball.
func (m *Machine) Add(t term.Term, first bool) error {
	_, err := m.assert(t, first)
	return within(err, ontology.Name{Atom: term.NewAtom("assertz"), Arity: 1})
}

// NameOf returns the predicate that a clause is of; false: it is none.
func (m *Machine) NameOf(t term.Term) (ontology.Name, bool) {
	head, _, err := m.split(t)
	return nameOf(head), err == nil
}

// opened makes terms of a clause, with new variables.
func (m *Machine) opened(c *ontology.Clause) (args []term.Term, body term.Term) {
	code := c.Code(m.Budget)
	m.Budget.Spend(1 + code.Vars)
	if code.Vars == 0 {
		if body = code.Body; body == nil {
			body = term.True
		}
		return code.Args, body
	}
	env := make([]term.Term, code.Vars)
	args = make([]term.Term, len(code.Args))
	for i, a := range code.Args {
		args[i] = m.build(a, env)
	}
	body = term.True
	if code.Body != nil {
		body = m.build(code.Body, env)
		if slot, is := code.Body.(term.Slot); is {
			body = &term.Compound{Name: term.NewAtom("call"), Args: []term.Term{env[slot]}}
		}
	}
	return args, body
}

// matching finds the clauses of a head and a body, one after the other, and does something with each.
func (m *Machine) matching(n ontology.Name, head, body term.Term, with func(c *ontology.Clause) bool) (bool, error) {
	pred := m.Draft.Pred(n)
	if pred == nil {
		pred = m.proc(n).library
	}
	args := argsOf(head)
	it := pred.Each(m.Budget, ontology.FirstOf(m.Budget, args))
	if !it.More() {
		return false, nil
	}
	return m.try(func(m *Machine) (found, more bool) {
		c := it.Next()
		m.Budget.Spend(1)
		of, is := m.opened(c)
		found = len(of) == len(args)
		for i := range of {
			found = found && m.unify(args[i], of[i])
		}
		return found && m.unify(body, is) && with(c), it.More()
	})
}

func retract(m *Machine, a []term.Term) (bool, error) {
	head, body, err := m.split(a[0])
	if err != nil {
		return false, err
	}
	n, err := m.changeable(head)
	if err != nil {
		return false, err
	}
	if m.Draft.Pred(n) == nil {
		return false, nil
	}
	return m.matching(n, head, body, func(c *ontology.Clause) bool { return m.Draft.Remove(n, c) })
}

// retractAll takes all clauses out whose heads fit. The predicate exists afterwards.
func retractAll(m *Machine, a []term.Term) (bool, error) {
	head := m.deref(a[0])
	switch {
	case isVar(head):
		return false, instantiation()
	case !term.Callable(head):
		return false, typeError("callable", head)
	}
	n, err := m.changeable(head)
	if err != nil {
		return false, err
	}
	args := argsOf(head)
	it := m.Draft.Pred(n).Each(m.Budget, ontology.FirstOf(m.Budget, args))
	for c := it.Next(); c != nil; c = it.Next() {
		m.Budget.Spend(1)
		height, mark := len(m.trail), m.mark
		m.mark = m.ids
		of, _ := m.opened(c)
		fits := len(of) == len(args)
		for i := range of {
			fits = fits && m.unify(args[i], of[i])
		}
		m.undo(height)
		m.mark = mark
		if fits {
			m.Draft.Remove(n, c)
		}
	}
	m.Draft.Exist(n)
	return true, nil
}

func clause(m *Machine, a []term.Term) (bool, error) {
	head, body := m.deref(a[0]), m.deref(a[1])
	switch {
	case isVar(head):
		return false, instantiation()
	case !term.Callable(head):
		return false, typeError("callable", head)
	case !isVar(body) && !term.Callable(body):
		return false, typeError("callable", body)
	}
	n := nameOf(head)
	if Static(n) {
		return false, permission("access", "private_procedure", indicator(n))
	}
	return m.matching(n, head, body, func(*ontology.Clause) bool { return true })
}

// pi reads a predicate indicator.
func (m *Machine) pi(t term.Term) (n ontology.Name, err error) {
	t = m.deref(t)
	c, is := t.(*term.Compound)
	switch {
	case isVar(t):
		return n, instantiation()
	case !is || c.Name != term.Slash || len(c.Args) != 2:
		return n, typeError("predicate_indicator", t)
	}
	name, arity := m.deref(c.Args[0]), m.deref(c.Args[1])
	switch {
	case isVar(name) || isVar(arity):
		return n, instantiation()
	case !isAtom(name):
		return n, typeError("atom", name)
	case !isInt(arity):
		return n, typeError("integer", arity)
	case compareNumbers(arity, term.Int(0)) < 0:
		return n, domainError("not_less_than_zero", arity)
	case compareNumbers(arity, term.Int(term.MostArity)) > 0:
		return n, representation("max_arity")
	}
	return ontology.Name{Atom: name.(term.Atom), Arity: int(arity.(term.Int))}, nil //nolint:errcheck // looked at above
}

func abolish(m *Machine, a []term.Term) (bool, error) {
	n, err := m.pi(a[0])
	if err != nil {
		return false, err
	}
	switch {
	case m.ReadOnly:
		return false, permission("modify", "query", indicator(n))
	case Static(n):
		return false, permission("modify", "static_procedure", indicator(n))
	}
	m.Draft.Abolish(n)
	return true, nil
}

// declare makes predicates exist: one, some with commas between them, or a list.
func (m *Machine) declare(t term.Term) (bool, error) {
	for rest := []term.Term{t}; len(rest) > 0; {
		m.Budget.Spend(1)
		t := m.deref(rest[len(rest)-1])
		rest = rest[:len(rest)-1]
		c, is := t.(*term.Compound)
		switch {
		case t == term.Nil:
		case is && len(c.Args) == 2 && (c.Name == term.Comma || c.Name == term.Dot):
			rest = append(rest, c.Args[1], c.Args[0])
		default:
			n, err := m.pi(t)
			if err != nil {
				return false, err
			}
			if _, err := m.changeable(headOf(n)); err != nil {
				return false, err
			}
			m.Draft.Exist(n)
		}
	}
	return true, nil
}

// headOf returns a term of a predicate.
func headOf(n ontology.Name) term.Term {
	if n.Arity == 0 {
		return n.Atom
	}
	return &term.Compound{Name: n.Atom, Args: make([]term.Term, n.Arity)}
}

func currentPredicate(m *Machine, a []term.Term) (bool, error) {
	t := m.deref(a[0])
	c, is := t.(*term.Compound)
	if !isVar(t) {
		if !is || c.Name != term.Slash || len(c.Args) != 2 {
			return false, typeError("predicate_indicator", t)
		}
		if name := m.deref(c.Args[0]); !isVar(name) && !isAtom(name) {
			return false, typeError("predicate_indicator", t)
		}
		if arity := m.deref(c.Args[1]); !isVar(arity) && !isInt(arity) {
			return false, typeError("predicate_indicator", t)
		}
	}
	all := m.Draft.Names()
	i := 0
	return m.try(func(m *Machine) (found, more bool) {
		m.Budget.Spend(1)
		for ; i < len(all); i++ {
			if n := all[i]; m.Draft.Pred(n).Count() > 0 {
				i++
				return m.unify(t, indicator(n)), i < len(all)
			}
			m.Budget.Spend(1)
		}
		return false, false
	})
}

func predicateProperty(m *Machine, a []term.Term) (bool, error) {
	head := m.deref(a[0])
	if !term.Callable(head) {
		return false, nil
	}
	n := nameOf(head)
	var all []term.Term
	switch p := m.Draft.Pred(n); {
	case p != nil:
		all = []term.Term{term.New("dynamic"), term.New("defined"), term.New("number_of_clauses", term.Int(p.Count()))}
	case Static(n):
		all = []term.Term{term.New("built_in"), term.New("static"), term.New("defined")}
	case m.proc(n).library != nil:
		all = []term.Term{term.New("static"), term.New("defined")}
	default:
		return false, nil
	}
	i := 0
	return m.try(func(m *Machine) (found, more bool) {
		i++
		return m.unify(a[1], all[i-1]), i < len(all)
	})
}
