// Package syntax reads and writes the text of terms.
//
// A reader of others was the plan, and is what the tests compare this one with: the one that can be had takes X = Y = Z for a term, numbers variables
// across the process, says no line of what it does not understand, and neither can be paid for from a budget.
package syntax

import (
	"maps"
	"slices"

	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// Class is where an operator stands: before, between or after its arguments.
type Class byte

// The classes.
const (
	Prefix Class = iota
	Infix
	Postfix
)

// Op is an operator. With priority 0 it is none.
type Op struct {
	Priority int
	Type     string // fy, fx, xfx, xfy, yfx, xf, yf
}

// ClassOf returns the class of an operator's type; false: there is no such type.
func ClassOf(kind string) (Class, bool) {
	switch kind {
	case "fy", "fx":
		return Prefix, true
	case "xfx", "xfy", "yfx":
		return Infix, true
	case "xf", "yf":
		return Postfix, true
	}
	return 0, false
}

// sides returns the priorities that arguments may have.
func (o Op) sides() (left, right int) {
	left, right = o.Priority-1, o.Priority-1
	switch o.Type {
	case "fy", "xfy":
		right++
	case "yf", "yfx":
		left++
	}
	return left, right
}

// OpKey names an operator.
type OpKey struct {
	Name  term.Atom
	Class Class
}

// Ops are the operators that there are: those of the standard, and what goals have made of them. One that is shared never changes: With returns another.
type Ops struct{ own map[OpKey]Op }

// Get returns an operator, and whether it is one.
func (o *Ops) Get(name term.Atom, class Class) (Op, bool) {
	k := OpKey{name, class}
	if o != nil {
		if op, is := o.own[k]; is {
			return op, op.Priority > 0
		}
	}
	op, is := standard[k]
	return op, is
}

// With returns the operators with one changed. Priority 0 takes it out.
func (o *Ops) With(k OpKey, op Op) *Ops {
	all := &Ops{own: map[OpKey]Op{}}
	if o != nil {
		maps.Copy(all.own, o.own)
	}
	if op.Priority == 0 {
		op = Op{}
	}
	if all.own[k] = op; standard[k] == op {
		delete(all.own, k)
	}
	return all
}

// Own returns how many operators are other than in the standard.
func (o *Ops) Own() int {
	if o == nil {
		return 0
	}
	return len(o.own)
}

// Named is an operator with its name.
type Named struct {
	OpKey
	Op
}

// All returns all operators by name.
func (o *Ops) All() (all []Named) {
	seen := maps.Clone(standard)
	if o != nil {
		maps.Copy(seen, o.own)
	}
	for k, op := range seen {
		if op.Priority > 0 {
			all = append(all, Named{k, op})
		}
	}
	slices.SortFunc(all, func(a, b Named) int {
		if a.Name == b.Name {
			return int(a.Class) - int(b.Class)
		}
		if a.Name.Name() < b.Name.Name() {
			return -1
		}
		return 1
	})
	return all
}

// is reports whether a name is an operator of any class.
func (o *Ops) is(name term.Atom) bool {
	for _, class := range []Class{Prefix, Infix, Postfix} {
		if _, is := o.Get(name, class); is {
			return true
		}
	}
	return false
}

var standard = map[OpKey]Op{}

func init() { //nolint:gochecknoinits // a table that is written as a table
	for _, row := range []struct {
		priority int
		kind     string
		names    []string
	}{
		{1200, "xfx", []string{":-", "-->"}},
		{1200, "fx", []string{":-", "?-"}},
		{1150, "fx", []string{"dynamic", "discontiguous"}},
		{1100, "xfy", []string{";"}},
		{1050, "xfy", []string{"->", "*->"}},
		{1000, "xfy", []string{","}},
		{900, "fy", []string{"\\+"}},
		{700, "xfx", []string{"=", "\\=", "==", "\\==", "@<", "@>", "@=<", "@>=", "=..", "is", "=:=", "=\\=", "<", ">", "=<", ">="}},
		{500, "yfx", []string{"+", "-", "/\\", "\\/", "xor"}},
		{400, "yfx", []string{"*", "/", "//", "rem", "mod", "div", "<<", ">>"}},
		{200, "xfx", []string{"**"}},
		{200, "xfy", []string{"^"}},
		{200, "fy", []string{"-", "+", "\\"}},
	} {
		class, _ := ClassOf(row.kind)
		for _, name := range row.names {
			standard[OpKey{term.NewAtom(name), class}] = Op{row.priority, row.kind}
		}
	}
}

// Standard returns an operator of the standard; with priority 0 it has none of that name.
func Standard(k OpKey) Op { return standard[k] }

// Of returns an operator; with priority 0 it is none.
func (o *Ops) Of(k OpKey) Op {
	op, is := o.Get(k.Name, k.Class)
	if !is {
		return Op{}
	}
	return op
}
