package term

import (
	"cmp"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog"
)

// The standard order: variables by age, floats, integers, atoms, compounds by arity, name and arguments.
const (
	ofVar = iota
	ofFloat
	ofInt
	ofAtom
	ofCompound
)

func rank(t Term) int {
	switch t.(type) {
	case *Var, Slot:
		return ofVar
	case Float:
		return ofFloat
	case Int:
		return ofInt
	case Atom:
		return ofAtom
	}
	return ofCompound
}

// pair is two terms that are still to be compared.
type pair struct{ a, b Term }

// Compare compares two terms in the standard order.
func Compare(b *txlog.Budget, x, y Term) int {
	var room [16]pair
	for rest := append(room[:0], pair{x, y}); len(rest) > 0; {
		b.Spend(1)
		last := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		x, y = Deref(b, last.a), Deref(b, last.b)
		c, is := x.(*Compound)
		d, both := y.(*Compound)
		switch {
		case !is || !both:
			if n := compareSimple(b, x, y); n != 0 {
				return n
			}
			continue
		case c == d:
			continue
		case len(c.Args) != len(d.Args):
			return cmp.Compare(len(c.Args), len(d.Args))
		case c.Name != d.Name:
			return compareNames(b, c.Name, d.Name)
		}
		b.Spend(len(c.Args))
		for i, v := range slices.Backward(c.Args) {
			rest = append(rest, pair{v, d.Args[i]})
		}
	}
	return 0
}

func compareNames(b *txlog.Budget, x, y Atom) int {
	if x == y {
		return 0
	}
	n, m := x.Name(), y.Name()
	b.Spend(min(len(n), len(m)) / 64)
	return strings.Compare(n, m)
}

func compareSimple(b *txlog.Budget, x, y Term) int {
	if r, s := rank(x), rank(y); r != s {
		return cmp.Compare(r, s)
	}
	switch x := x.(type) {
	case *Var:
		return cmp.Compare(x.ID, y.(*Var).ID) //nolint:errcheck // of one rank
	case Slot:
		return cmp.Compare(x, y.(Slot)) //nolint:errcheck // of one rank
	case Float:
		return cmp.Compare(x, y.(Float)) //nolint:errcheck // of one rank
	case Int:
		return cmp.Compare(x, y.(Int)) //nolint:errcheck // of one rank
	case Atom:
		return compareNames(b, x, y.(Atom)) //nolint:errcheck // of one rank
	}
	return 0
}
