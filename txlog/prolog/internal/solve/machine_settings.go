package solve

import (
	"maps"
	"math"
	"slices"

	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

func init() { //nolint:gochecknoinits // a table
	define("op", 3, op)
	define("current_op", 3, currentOp)
	define("set_prolog_flag", 2, setFlag)
	define("current_prolog_flag", 2, currentFlag)
}

// mostOps is how many operators there may be beside those of the standard.
const mostOps = 256

func op(m *Machine, a []term.Term) (bool, error) {
	if m.ReadOnly {
		return false, permission("modify", "query", term.NewAtom("op"))
	}
	priority, err := m.intArg(a[0])
	if err != nil {
		return false, err
	}
	kind, err := m.atomArg(a[1])
	if err != nil {
		return false, err
	}
	class, is := syntax.ClassOf(kind.Name())
	switch {
	case priority < 0 || priority > 1200:
		return false, domainError("operator_priority", term.Int(priority))
	case !is:
		return false, domainError("operator_specifier", kind)
	}
	names := []term.Term{a[2]}
	if t := m.deref(a[2]); t != term.Nil {
		if _, is := term.IsCons(t); is {
			if names, err = m.list(t); err != nil {
				return false, err
			}
		}
	}
	var all []term.Atom
	for _, t := range names {
		t := m.deref(t)
		name, is := t.(term.Atom)
		switch {
		case isVar(t):
			return false, instantiation()
		case !is && len(names) == 1 && !sameList(t):
			return false, typeError("list", t)
		case !is:
			return false, typeError("atom", t)
		}
		if err := m.mayBeOp(name, class, int(priority)); err != nil {
			return false, err
		}
		all = append(all, name)
	}
	for _, name := range all {
		if m.Draft.Ops().Own() >= mostOps {
			return false, resource("operators")
		}
		m.Draft.SetOp(syntax.OpKey{Name: name, Class: class}, syntax.Op{Priority: int(priority), Type: kind.Name()})
	}
	return true, nil
}

func sameList(t term.Term) bool { _, is := term.IsCons(t); return is }

func (m *Machine) mayBeOp(name term.Atom, class syntax.Class, priority int) error {
	switch name.Name() {
	case ",":
		return permission("modify", "operator", name)
	case "[]", "{}":
		return permission("create", "operator", name)
	case "|":
		if class != syntax.Infix || priority > 0 && priority <= 1000 {
			return permission("create", "operator", name)
		}
	}
	if len(name.Name()) > ontology.MostName {
		return representation("operator_name")
	}
	other := syntax.Infix + syntax.Postfix - class
	if _, is := m.Draft.Ops().Get(name, other); is && class != syntax.Prefix && priority > 0 {
		return permission("create", "operator", name)
	}
	return nil
}

func currentOp(m *Machine, a []term.Term) (bool, error) {
	switch p := m.deref(a[0]).(type) {
	case *term.Var:
	case term.Int:
		if p < 0 || p > 1200 {
			return false, domainError("operator_priority", p)
		}
	default:
		return false, domainError("operator_priority", p)
	}
	switch kind := m.deref(a[1]).(type) {
	case *term.Var:
	case term.Atom:
		if _, is := syntax.ClassOf(kind.Name()); !is {
			return false, domainError("operator_specifier", kind)
		}
	default:
		return false, domainError("operator_specifier", kind)
	}
	if t := m.deref(a[2]); !isVar(t) && !isAtom(t) {
		return false, typeError("atom", t)
	}
	m.Budget.Spend(100 + m.Draft.Ops().Own())
	all := m.Draft.Ops().All()
	i := 0
	return m.try(func(m *Machine) (found, more bool) {
		o := all[i]
		i++
		return m.unify(a[0], term.Int(o.Priority)) && m.unify(a[1], term.NewAtom(o.Type)) && m.unify(a[2], o.Name), i < len(all)
	})
}

// flags are those that may be set, with their values; the first is the default. There is nobody to be warned, so a warning is a failure, and nothing that could
// be debugged or converted.
var flags = map[string][]string{
	"unknown": {"error", "fail", "warning"}, "double_quotes": {"codes", "chars", "atom"}, "debug": {"off"}, "char_conversion": {"off"},
}

// fixed are those that may not.
var fixed = []struct {
	name  string
	value term.Term
}{
	{"bounded", term.True},
	{"max_integer", term.Int(math.MaxInt64)},
	{"min_integer", term.Int(math.MinInt64)},
	{"integer_rounding_function", term.NewAtom("toward_zero")},
	{"max_arity", term.Int(term.MostArity)},
}

func isFlag(name string) bool {
	for _, f := range fixed {
		if f.name == name {
			return true
		}
	}
	return flags[name] != nil
}

func setFlag(m *Machine, a []term.Term) (bool, error) {
	t, value := m.deref(a[0]), m.deref(a[1])
	if isVar(t) || isVar(value) {
		return false, instantiation()
	}
	name, err := m.atomArg(t)
	if err != nil {
		return false, err
	}
	if !isFlag(name.Name()) {
		return false, domainError("prolog_flag", name)
	}
	for _, v := range flags[name.Name()] {
		if value == term.NewAtom(v) {
			if m.ReadOnly {
				return false, permission("modify", "query", name)
			}
			m.Draft.SetFlag(name.Name(), v)
			return true, nil
		}
	}
	if flags[name.Name()] == nil {
		return false, permission("modify", "flag", name)
	}
	return false, domainError("flag_value", &term.Compound{Name: term.Plus, Args: []term.Term{name, value}})
}

func currentFlag(m *Machine, a []term.Term) (bool, error) {
	t := m.deref(a[0])
	if name, is := t.(term.Atom); is && !isFlag(name.Name()) {
		return false, domainError("prolog_flag", name)
	} else if !is && !isVar(t) {
		return false, typeError("atom", t)
	}
	all := slices.Clip(fixed)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		value := m.Draft.Flag(name)
		if value == "" {
			value = flags[name][0]
		}
		all = append(all, struct {
			name  string
			value term.Term
		}{name, term.NewAtom(value)})
	}
	i := 0
	return m.try(func(m *Machine) (found, more bool) {
		f := all[i]
		i++
		return m.unify(t, term.NewAtom(f.name)) && m.unify(a[1], f.value), i < len(all)
	})
}
