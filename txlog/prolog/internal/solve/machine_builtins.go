package solve

import (
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// builtins are what no goal can define.
var builtins = map[ontology.Name]builtin{}

func define(name string, arity int, do builtin) {
	builtins[ontology.Name{Atom: term.NewAtom(name), Arity: arity}] = do
}

func init() { //nolint:gochecknoinits // a table
	for name, is := range map[string]func(term.Term) bool{
		"var": isVar, "nonvar": func(t term.Term) bool { return !isVar(t) }, "atom": isAtom, "integer": isInt, "float": isFloat,
		"number": isNumber, "atomic": term.Atomic, "compound": isCompound, "callable": term.Callable,
	} {
		define(name, 1, func(m *Machine, a []term.Term) (bool, error) { return is(m.deref(a[0])), nil })
	}
	define("is_list", 1, func(m *Machine, a []term.Term) (bool, error) {
		_, end := m.elements(a[0])
		return end == term.Nil, nil
	})
	define("ground", 1, func(m *Machine, a []term.Term) (bool, error) { return len(m.Vars(a[0])) == 0, nil })
	define("=", 2, func(m *Machine, a []term.Term) (bool, error) { return m.unify(a[0], a[1]), nil })
	define("\\=", 2, func(m *Machine, a []term.Term) (bool, error) { return !m.would(a[0], a[1]), nil })
	define("unify_with_occurs_check", 2, func(m *Machine, a []term.Term) (bool, error) {
		return m.unify(a[0], a[1]) && m.acyclic(a[0]), nil
	})
	define("acyclic_term", 1, func(m *Machine, a []term.Term) (bool, error) { return m.acyclic(a[0]), nil })
	define("subsumes_term", 2, subsumes)
	for name, is := range map[string]func(n int) bool{
		"==": func(n int) bool { return n == 0 }, "\\==": func(n int) bool { return n != 0 },
		"@<": func(n int) bool { return n < 0 }, "@=<": func(n int) bool { return n <= 0 },
		"@>": func(n int) bool { return n > 0 }, "@>=": func(n int) bool { return n >= 0 },
	} {
		define(name, 2, func(m *Machine, a []term.Term) (bool, error) { return is(term.Compare(m.Budget, a[0], a[1])), nil })
	}
	define("compare", 3, comparing)
	define("functor", 3, functor)
	define("arg", 3, arg)
	define("=..", 2, univ)
	define("copy_term", 2, func(m *Machine, a []term.Term) (bool, error) {
		t, err := m.copy(a[0])
		return err == nil && m.unify(a[1], t), err
	})
	define("term_variables", 2, func(m *Machine, a []term.Term) (bool, error) {
		if !m.isPartialList(a[1]) {
			return false, typeError("list", a[1])
		}
		return m.unify(a[1], m.varList(m.Vars(a[0]))), nil
	})
	define("nb_setval", 2, setGlobal)
	define("b_setval", 2, setGlobal)
	define("nb_getval", 2, global)
	define("b_getval", 2, global)
}

func isVar(t term.Term) bool      { _, is := t.(*term.Var); return is }
func isAtom(t term.Term) bool     { _, is := t.(term.Atom); return is }
func isInt(t term.Term) bool      { _, is := t.(term.Int); return is }
func isFloat(t term.Term) bool    { _, is := t.(term.Float); return is }
func isNumber(t term.Term) bool   { return isInt(t) || isFloat(t) }
func isCompound(t term.Term) bool { _, is := t.(*term.Compound); return is }

// elements returns what a list has, and its end: the empty list if it is whole.
func (m *Machine) elements(list term.Term) (all []term.Term, end term.Term) {
	for {
		m.Budget.Spend(1)
		list = m.deref(list)
		c, is := term.IsCons(list)
		if !is {
			return all, list
		}
		all = append(all, c.Args[0])
		list = c.Args[1]
	}
}

// list is elements of what must be a whole list.
func (m *Machine) list(t term.Term) ([]term.Term, error) {
	all, end := m.elements(t)
	switch {
	case end == term.Nil:
		return all, nil
	case isVar(end):
		return nil, instantiation()
	}
	return nil, typeError("list", t)
}

func (m *Machine) isPartialList(t term.Term) bool {
	_, end := m.elements(t)
	return isVar(end) || end == term.Nil
}

func (m *Machine) varList(vars []*term.Var) term.Term {
	m.Budget.Spend(2 * len(vars))
	all := make([]term.Term, len(vars))
	for i, v := range vars {
		all[i] = v
	}
	return term.List(all...)
}

// would reports whether two terms can be made equal, and leaves them as they are.
func (m *Machine) would(x, y term.Term) bool {
	height, mark := len(m.trail), m.mark
	m.mark = m.ids
	is := m.unify(x, y)
	m.undo(height)
	m.mark = mark
	return is
}

// acyclic reports whether a term is finite. Parts that were looked at are not looked at again.
func (m *Machine) acyclic(t term.Term) bool {
	type step struct {
		c    *term.Compound
		over bool
	}
	on := map[*term.Compound]bool{} // true: above what is looked at; false: done
	rest := []step{}
	enter := func(t term.Term) {
		if c, is := m.deref(t).(*term.Compound); is {
			rest = append(rest, step{c, false})
		}
	}
	for enter(t); len(rest) > 0; {
		m.Budget.Spend(2)
		s := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		above, seen := on[s.c]
		switch {
		case s.over:
			on[s.c] = false
			continue
		case seen && above:
			return false
		case seen:
			continue
		}
		on[s.c] = true
		rest = append(rest, step{s.c, true})
		m.Budget.Spend(len(s.c.Args))
		for _, a := range s.c.Args {
			enter(a)
		}
	}
	return true
}

// subsumes reports whether the second term is one that the first can become.
func subsumes(m *Machine, a []term.Term) (bool, error) {
	height, mark := len(m.trail), m.mark
	m.mark = m.ids
	before := m.varList(m.Vars(a[1]))
	is := m.unify(a[0], a[1])
	if is {
		after := m.Vars(before)
		is = term.Compare(m.Budget, m.varList(after), before) == 0
	}
	m.undo(height)
	m.mark = mark
	return is, nil
}

func comparing(m *Machine, a []term.Term) (bool, error) {
	switch order := m.deref(a[0]).(type) {
	case *term.Var:
	case term.Atom:
		if n := order.Name(); n != "<" && n != "=" && n != ">" {
			return false, domainError("order", order)
		}
	default:
		return false, typeError("atom", order)
	}
	name := [3]string{"<", "=", ">"}[term.Compare(m.Budget, a[1], a[2])+1]
	return m.unify(a[0], term.NewAtom(name)), nil
}

func functor(m *Machine, a []term.Term) (bool, error) {
	switch t := m.deref(a[0]).(type) {
	case *term.Compound:
		return m.unify(a[1], t.Name) && m.unify(a[2], term.Int(len(t.Args))), nil
	case *term.Var:
	default:
		return m.unify(a[1], t) && m.unify(a[2], term.Int(0)), nil
	}
	name, arity := m.deref(a[1]), m.deref(a[2])
	n, is := arity.(term.Int)
	switch {
	case isVar(name) || isVar(arity):
		return false, instantiation()
	case !is:
		return false, typeError("integer", arity)
	case n < 0:
		return false, domainError("not_less_than_zero", n)
	case isCompound(name):
		return false, typeError("atomic", name)
	case n == 0:
		return m.unify(a[0], name), nil
	case n > term.MostArity:
		return false, representation("max_arity")
	}
	atom, is := name.(term.Atom)
	if !is {
		if isNumber(name) {
			return false, typeError("atom", name)
		}
		return false, typeError("atomic", name)
	}
	m.Budget.Spend(int(n))
	c := &term.Compound{Name: atom, Args: make([]term.Term, n)}
	for i := range c.Args {
		c.Args[i] = m.NewVar()
	}
	return m.unify(a[0], c), nil
}

func arg(m *Machine, a []term.Term) (bool, error) {
	n, t := m.deref(a[0]), m.deref(a[1])
	c, is := t.(*term.Compound)
	switch {
	case isVar(t):
		return false, instantiation()
	case !is:
		return false, typeError("compound", t)
	}
	i, is := n.(term.Int)
	switch {
	case isVar(n):
		return false, instantiation()
	case !is:
		return false, typeError("integer", n)
	case i < 0:
		return false, domainError("not_less_than_zero", i)
	}
	return i > 0 && int64(i) <= int64(len(c.Args)) && m.unify(a[2], c.Args[i-1]), nil
}

func univ(m *Machine, a []term.Term) (bool, error) {
	switch t := m.deref(a[0]).(type) {
	case *term.Compound:
		m.Budget.Spend(2 * len(t.Args))
		return m.unify(a[1], term.Cons(t.Name, term.List(t.Args...))), nil
	case *term.Var:
	default:
		return m.unify(a[1], term.List(t)), nil
	}
	all, err := m.list(a[1])
	if err != nil {
		return false, err
	}
	if len(all) == 0 {
		return false, domainError("non_empty_list", term.Nil)
	}
	switch name := m.deref(all[0]).(type) {
	case *term.Var:
		return false, instantiation()
	case *term.Compound:
		if len(all) == 1 {
			return false, typeError("atomic", name)
		}
		return false, typeError("atom", name)
	case term.Atom:
		if len(all)-1 > term.MostArity {
			return false, representation("max_arity")
		}
		if len(all) > 1 {
			return m.unify(a[0], &term.Compound{Name: name, Args: all[1:]}), nil
		}
		return m.unify(a[0], name), nil
	default:
		if len(all) > 1 {
			return false, typeError("atom", name)
		}
		return m.unify(a[0], name), nil
	}
}

func (m *Machine) atomArg(t term.Term) (term.Atom, error) {
	switch t := m.deref(t).(type) {
	case *term.Var:
		return term.Atom{}, instantiation()
	case term.Atom:
		return t, nil
	default:
		return term.Atom{}, typeError("atom", t)
	}
}

func (m *Machine) intArg(t term.Term) (int64, error) {
	switch t := m.deref(t).(type) {
	case *term.Var:
		return 0, instantiation()
	case term.Int:
		return int64(t), nil
	default:
		return 0, typeError("integer", t)
	}
}

// setGlobal keeps a copy of a term under a name, until the goal ends.
func setGlobal(m *Machine, a []term.Term) (bool, error) {
	name, err := m.atomArg(a[0])
	if err != nil {
		return false, err
	}
	t, err := m.copy(a[1])
	if err != nil {
		return false, err
	}
	if m.globals == nil {
		m.globals = map[term.Atom]term.Term{}
	}
	m.globals[name] = t
	return true, nil
}

func global(m *Machine, a []term.Term) (bool, error) {
	name, err := m.atomArg(a[0])
	if err != nil {
		return false, err
	}
	t, is := m.globals[name]
	if !is {
		return false, existence("variable", name)
	}
	return m.unify(a[1], t), nil
}
