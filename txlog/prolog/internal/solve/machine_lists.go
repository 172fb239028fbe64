package solve

import (
	"math/bits"
	"slices"

	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

func init() { //nolint:gochecknoinits // a table
	define("sort", 2, func(m *Machine, a []term.Term) (bool, error) { return m.sorted(a[0], a[1], 0, "@<") })
	define("msort", 2, func(m *Machine, a []term.Term) (bool, error) { return m.sorted(a[0], a[1], 0, "@=<") })
	define("sort", 4, sort4)
	define("keysort", 2, keySort)
	define("length", 2, length)
	define("between", 3, between)
	define("$witness", 3, witness)
	define("$groups", 2, groups)
}

// order sorts, and pays for it first.
func (m *Machine) order(all []term.Term, less func(x, y term.Term) int) {
	m.Budget.Spend(len(all) * bits.Len(uint(len(all))))
	slices.SortStableFunc(all, less)
}

func (m *Machine) sorted(of, to term.Term, key int, order string) (bool, error) {
	all, err := m.list(of)
	if err != nil {
		return false, err
	}
	if t := m.deref(to); !m.isPartialList(t) {
		return false, typeError("list", t)
	}
	keyOf := func(t term.Term) term.Term { return t }
	if key > 0 {
		for _, t := range all {
			t := m.deref(t)
			c, is := t.(*term.Compound)
			switch {
			case isVar(t):
				return false, instantiation()
			case !is:
				return false, typeError("compound", t)
			case len(c.Args) < key:
				return false, typeError("compound", t)
			}
		}
		keyOf = func(t term.Term) term.Term {
			c, _ := m.deref(t).(*term.Compound) // looked at above
			return c.Args[key-1]
		}
	}
	compare := func(x, y term.Term) int { return term.Compare(m.Budget, keyOf(x), keyOf(y)) }
	if order[1] == '>' {
		up := compare
		compare = func(x, y term.Term) int { return up(y, x) }
	}
	m.order(all, compare)
	if order == "@<" || order == "@>" {
		all = slices.CompactFunc(all, func(x, y term.Term) bool { return compare(x, y) == 0 })
	}
	m.Budget.Spend(2 * len(all))
	return m.unify(to, term.List(all...)), nil
}

func sort4(m *Machine, a []term.Term) (bool, error) {
	key, err := m.intArg(a[0])
	if err != nil {
		return false, err
	}
	order, err := m.atomArg(a[1])
	if err != nil {
		return false, err
	}
	if n := order.Name(); n != "@<" && n != "@=<" && n != "@>" && n != "@>=" {
		return false, domainError("order", order)
	}
	if key < 0 || key > term.MostArity {
		return false, domainError("not_less_than_zero", term.Int(key))
	}
	return m.sorted(a[2], a[3], int(key), order.Name())
}

// pairOf returns a term as a key with a value.
func (m *Machine) pairOf(t term.Term) (*term.Compound, error) {
	t = m.deref(t)
	c, is := t.(*term.Compound)
	switch {
	case isVar(t):
		return nil, instantiation()
	case !is || c.Name != term.Minus || len(c.Args) != 2:
		return nil, typeError("pair", t)
	}
	return c, nil
}

func keySort(m *Machine, a []term.Term) (bool, error) {
	all, err := m.list(a[0])
	if err != nil {
		return false, err
	}
	for _, t := range all {
		if _, err := m.pairOf(t); err != nil {
			return false, err
		}
	}
	out, end := m.elements(a[1])
	if !isVar(end) && end != term.Nil {
		return false, typeError("list", a[1])
	}
	for _, t := range out {
		if t := m.deref(t); !isVar(t) {
			if _, err := m.pairOf(t); err != nil {
				return false, err
			}
		}
	}
	m.order(all, func(x, y term.Term) int {
		c, _ := m.pairOf(x)
		d, _ := m.pairOf(y)
		return term.Compare(m.Budget, c.Args[0], d.Args[0])
	})
	m.Budget.Spend(2 * len(all))
	return m.unify(a[1], term.List(all...)), nil
}

func length(m *Machine, a []term.Term) (bool, error) {
	n := m.deref(a[1])
	if !isVar(n) {
		if _, err := m.intArg(n); err != nil {
			return false, err
		}
		if compareNumbers(n, term.Int(0)) < 0 {
			return false, domainError("not_less_than_zero", n)
		}
	}
	all, end := m.elements(a[0])
	switch {
	case end == term.Nil:
		return m.unify(n, term.Int(len(all))), nil
	case !isVar(end):
		return false, typeError("list", a[0])
	}
	if want, is := n.(term.Int); is {
		if int(want) < len(all) {
			return false, nil
		}
		m.Budget.Spend(2 * min(int(want)-len(all), 1<<30))
		return m.unify(end, m.fresh(int(want)-len(all))), nil
	}
	if end == n {
		return false, resource("infinite_list")
	}
	more := -1
	return m.try(func(m *Machine) (bool, bool) {
		more++
		m.Budget.Spend(2 * more)
		return m.unify(end, m.fresh(more)) && m.unify(n, term.Int(len(all)+more)), true
	})
}

// fresh returns a list of variables.
func (m *Machine) fresh(n int) term.Term {
	list := term.Term(term.Nil)
	for range n {
		list = term.Cons(m.NewVar(), list)
	}
	return list
}

func between(m *Machine, a []term.Term) (bool, error) {
	from, err := m.intArg(a[0])
	if err != nil {
		return false, err
	}
	to := int64(1<<63 - 1)
	if end, is := m.deref(a[1]).(term.Atom); !is || end.Name() != "inf" && end.Name() != "infinite" {
		if to, err = m.intArg(a[1]); err != nil {
			return false, err
		}
	}
	x := m.deref(a[2])
	if !isVar(x) {
		n, err := m.intArg(x)
		return err == nil && n >= from && n <= to, err
	}
	if from > to {
		return false, nil
	}
	next := from
	return m.try(func(m *Machine) (found, more bool) {
		n := next
		if n < to {
			next++
		}
		return m.unify(x, term.Int(n)), n < to
	})
}

// witness takes a goal of bagof/3 apart: the variables that are free in it, and the goal without what stands before ^.
func witness(m *Machine, a []term.Term) (bool, error) {
	c, is := m.deref(a[0]).(*term.Compound) // Template^Goal
	if !is {
		return false, instantiation()
	}
	bound := []term.Term{c.Args[0]}
	goal := m.deref(c.Args[1])
	for {
		m.Budget.Spend(1)
		g, is := goal.(*term.Compound)
		if !is || g.Name != term.Caret || len(g.Args) != 2 {
			break
		}
		bound = append(bound, g.Args[0])
		goal = m.deref(g.Args[1])
	}
	switch {
	case isVar(goal):
		return false, instantiation()
	case !term.Callable(goal):
		return false, typeError("callable", goal)
	}
	known := map[*term.Var]bool{}
	for _, v := range m.Vars(term.List(bound...)) {
		known[v] = true
	}
	free := slices.DeleteFunc(m.Vars(goal), func(v *term.Var) bool { return known[v] })
	return m.unify(a[1], m.varList(free)) && m.unify(a[2], goal), nil
}

// groups gathers the solutions of bagof/3, each a witness with a value and sorted by witness, by those whose witnesses are variants of each other.
func groups(m *Machine, a []term.Term) (bool, error) {
	all, err := m.list(a[0])
	if err != nil {
		return false, err
	}
	var out []term.Term
	for len(all) > 0 {
		first, err := m.pairOf(all[0])
		if err != nil {
			return false, err
		}
		var some, rest []term.Term
		for _, t := range all {
			m.Budget.Spend(1)
			p, err := m.pairOf(t)
			if err != nil {
				return false, err
			}
			if m.variant(first.Args[0], p.Args[0]) && m.unify(first.Args[0], p.Args[0]) {
				some = append(some, p.Args[1])
			} else {
				rest = append(rest, t)
			}
		}
		m.Budget.Spend(2 * len(some))
		out = append(out, &term.Compound{Name: term.Minus, Args: []term.Term{first.Args[0], term.List(some...)}})
		all = rest
	}
	return m.unify(a[1], term.List(out...)), nil
}

// variant reports whether two terms are the same but for the names of their variables.
func (m *Machine) variant(x, y term.Term) bool {
	there, back := map[*term.Var]*term.Var{}, map[*term.Var]*term.Var{}
	for rest := []pair{{x, y}}; len(rest) > 0; {
		m.Budget.Spend(1)
		last := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		x, y := m.deref(last.a), m.deref(last.b)
		v, is := x.(*term.Var)
		w, both := y.(*term.Var)
		if is || both {
			if !is || !both || there[v] != nil && there[v] != w || back[w] != nil && back[w] != v {
				return false
			}
			there[v], back[w] = w, v
			continue
		}
		c, is := x.(*term.Compound)
		d, both := y.(*term.Compound)
		if !is || !both {
			if is || both || x != y {
				return false
			}
			continue
		}
		if c.Name != d.Name || len(c.Args) != len(d.Args) {
			return false
		}
		for i := range c.Args {
			rest = append(rest, pair{c.Args[i], d.Args[i]})
		}
	}
	return true
}
