package solve

import (
	"math"

	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

func init() { //nolint:gochecknoinits // a table
	define("is", 2, func(m *Machine, a []term.Term) (bool, error) {
		n, err := m.eval(a[1], 0)
		return err == nil && m.unify(a[0], n), err
	})
	for name, holds := range map[string]func(n int) bool{
		"=:=": func(n int) bool { return n == 0 }, "=\\=": func(n int) bool { return n != 0 },
		"<": func(n int) bool { return n < 0 }, "=<": func(n int) bool { return n <= 0 },
		">": func(n int) bool { return n > 0 }, ">=": func(n int) bool { return n >= 0 },
	} {
		define(name, 2, func(m *Machine, a []term.Term) (bool, error) {
			x, err := m.eval(a[0], 0)
			if err != nil {
				return false, err
			}
			y, err := m.eval(a[1], 0)
			return err == nil && holds(compareNumbers(x, y)), err
		})
	}
	define("succ", 2, succ)
	define("plus", 3, plus)
}

// compareNumbers compares two numbers by value.
func compareNumbers(x, y term.Term) int {
	i, is := x.(term.Int)
	j, both := y.(term.Int)
	if is && both {
		switch {
		case i < j:
			return -1
		case i > j:
			return 1
		}
		return 0
	}
	a, b := toFloat(x), toFloat(y)
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func toFloat(n term.Term) float64 {
	switch n := n.(type) {
	case term.Int:
		return float64(n)
	case term.Float:
		return float64(n)
	}
	return math.NaN()
}

// eval returns the number that an expression is.
func (m *Machine) eval(t term.Term, deep int) (term.Term, error) {
	m.Budget.Spend(1)
	if deep > term.MostDeep {
		return nil, resource("depth")
	}
	switch t := m.deref(t).(type) {
	case *term.Var:
		return nil, instantiation()
	case term.Int, term.Float:
		return t, nil
	case term.Atom:
		if n, is := constants[t.Name()]; is {
			return n, nil
		}
		return nil, typeError("evaluable", indicator(ontology.Name{Atom: t}))
	case *term.Compound:
		return m.apply(t, deep)
	}
	return nil, typeError("evaluable", t)
}

func (m *Machine) apply(c *term.Compound, deep int) (term.Term, error) {
	n := ontology.Name{Atom: c.Name, Arity: len(c.Args)}
	f, is := functions[n]
	if !is {
		if c.Name == term.Dot && len(c.Args) == 2 && m.deref(c.Args[1]) == term.Nil {
			return m.eval(c.Args[0], deep+1)
		}
		return nil, typeError("evaluable", indicator(n))
	}
	x, err := m.eval(c.Args[0], deep+1)
	if err != nil {
		return nil, err
	}
	var y term.Term
	if len(c.Args) == 2 {
		if y, err = m.eval(c.Args[1], deep+1); err != nil {
			return nil, err
		}
	}
	return f(x, y)
}

func succ(m *Machine, a []term.Term) (bool, error) {
	x, y := m.deref(a[0]), m.deref(a[1])
	for _, t := range []term.Term{x, y} {
		switch n := t.(type) {
		case *term.Var:
		case term.Int:
			if n < 0 {
				return false, typeError("not_less_than_zero", n)
			}
		default:
			return false, typeError("integer", t)
		}
	}
	if n, is := x.(term.Int); is {
		if n == math.MaxInt64 {
			return false, evaluation(overflow)
		}
		return m.unify(y, n+1), nil
	}
	n, is := y.(term.Int)
	if !is {
		return false, instantiation()
	}
	return n > 0 && m.unify(x, n-1), nil
}

func plus(m *Machine, a []term.Term) (bool, error) {
	free, op, of := 2, "+", [2]int{0, 1}
	for i := range 2 {
		if _, is := m.deref(a[i]).(*term.Var); is {
			free, op, of = i, "-", [2]int{2, 1 - i}
		}
	}
	n, err := m.eval(term.New(op, a[of[0]], a[of[1]]), 0)
	return err == nil && m.unify(a[free], n), err
}
