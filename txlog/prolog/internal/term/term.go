// Package term has the terms of Prolog: what they are, their order, and their bytes. Nothing here walks over a term without spending of a budget first, and
// nothing recurses over one deeper than MostDeep: terms are made by users, may be cyclic, and may share their parts so that they look exponentially large.
package term

import (
	"math"
	"slices"
	"unique"

	"github.com/conchhq/conch/txlog"
)

// Term is an Atom, an Int, a Float, a *Var, a *Compound, or within a clause a Slot.
type Term any

// Atom is a name. Equal names are equal atoms, and a name that nobody has any more is forgotten.
type Atom struct{ of unique.Handle[string] }

// NewAtom returns the atom of a name.
func NewAtom(name string) Atom { return Atom{unique.Make(name)} }

// Name returns the name.
func (a Atom) Name() string { return a.of.Value() }

// Int is an integer of 64 bits.
type Int int64

// Float is a number that is neither infinite nor none.
type Float float64

// Slot is a variable of a clause: the number of its first occurrence.
type Slot int

// Var is a variable of a goal. Ref is its value; nil: it has none.
type Var struct {
	Ref Term
	ID  int64 // a younger one has a larger
}

// Compound is a name with arguments.
type Compound struct {
	Name Atom
	Args []Term
	Open bool // a slot is in it
}

// Names that the program itself knows.
var (
	Nil      = NewAtom("[]")
	Dot      = NewAtom(".")
	Curly    = NewAtom("{}")
	Comma    = NewAtom(",")
	Semi     = NewAtom(";")
	Arrow    = NewAtom("->")
	SoftCut  = NewAtom("*->")
	Neck     = NewAtom(":-")
	Minus    = NewAtom("-")
	Plus     = NewAtom("+")
	Slash    = NewAtom("/")
	Cut      = NewAtom("!")
	True     = NewAtom("true")
	False    = NewAtom("false")
	Fail     = NewAtom("fail")
	Caret    = NewAtom("^")
	ErrorTag = NewAtom("error")
	Bar      = NewAtom("|")
)

// New returns a name with arguments, or the atom if there are none.
func New(name string, args ...Term) Term {
	if len(args) == 0 {
		return NewAtom(name)
	}
	return &Compound{Name: NewAtom(name), Args: args}
}

// Pair returns a name with two arguments, in one piece of memory.
func Pair(name Atom, x, y Term) *Compound {
	made := &struct {
		of   Compound
		args [2]Term
	}{Compound{Name: name}, [2]Term{x, y}}
	made.of.Args = made.args[:]
	return &made.of
}

// Blank returns a name with so many arguments, which are still to be set: in one piece of memory if they are few.
func Blank(name Atom, arity int) *Compound {
	switch arity {
	case 1:
		made := &struct {
			of   Compound
			args [1]Term
		}{of: Compound{Name: name}}
		made.of.Args = made.args[:]
		return &made.of
	case 2:
		return Pair(name, nil, nil)
	case 3:
		made := &struct {
			of   Compound
			args [3]Term
		}{of: Compound{Name: name}}
		made.of.Args = made.args[:]
		return &made.of
	}
	return &Compound{Name: name, Args: make([]Term, arity)}
}

// Cons returns a list of one more element.
func Cons(head, tail Term) Term { return Pair(Dot, head, tail) }

// List returns a list.
func List(all ...Term) Term { return ListWith(all, Nil) }

// ListWith returns a list with another end.
func ListWith(all []Term, end Term) Term {
	for _, a := range slices.Backward(all) {
		end = Cons(a, end)
	}
	return end
}

// MostDeep is how deep a term may be where it is walked over by recursion. The last argument of a compound is a step on and none down, so a list may be as
// long as its elements are paid for.
const MostDeep = 10_000

// hops is how many variables that refer to each other are followed for nothing.
const hops = 8

// Deref returns the value of a term that may be a variable.
func Deref(b *txlog.Budget, t Term) Term {
	for n := 0; ; n++ {
		v, is := t.(*Var)
		if !is || v.Ref == nil {
			return t
		}
		if n >= hops {
			b.Spend(1)
		}
		t = v.Ref
	}
}

// IsCons returns the head and the tail of a list that has an element.
func IsCons(t Term) (c *Compound, is bool) {
	c, is = t.(*Compound)
	return c, is && c.Name == Dot && len(c.Args) == 2
}

// Callable reports whether a term can be a goal.
func Callable(t Term) bool {
	switch t.(type) {
	case Atom, *Compound:
		return true
	}
	return false
}

// Atomic reports whether a term has no parts and is no variable.
func Atomic(t Term) bool {
	switch t.(type) {
	case Atom, Int, Float:
		return true
	}
	return false
}

// Finite reports whether a number can be kept.
func Finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
