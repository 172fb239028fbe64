package term

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog"
)

// Limits of a clause that is stored.
const (
	MostClause     = 16 << 10 // bytes
	MostClauseDeep = 1_000
	MostArity      = 255
)

// The tags of a term's bytes. A clause is its kind, the number of the head's arguments and the arguments, and for a rule the body. The name is in the key.
const (
	tagVar   = 'v' // its number, in the order of first occurrences
	tagAtom  = 'a' // its name, after its length
	tagInt   = 'i' // in zigzag, as short as it can be
	tagFloat = 'f' // eight bytes
	tagTerm  = 't' // the arity, the name, the arguments
	kindFact = 'F'
	kindRule = 'R'
)

// Clause is a clause as the solver uses it: variables are slots.
type Clause struct {
	Args []Term
	Body Term // nil: a fact
	Vars int  // number of slots
}

var (
	// ErrLarge means that a clause is larger than one that is stored may be.
	ErrLarge = errors.New("a clause that is stored has 16384 bytes at most")
	// ErrDeep means that it is deeper.
	ErrDeep = errors.New("a clause that is stored is 1000 deep at most")
	// ErrNumber means that it has a number that cannot be kept.
	ErrNumber = errors.New("infinity is not stored")
)

type encoder struct {
	b    *txlog.Budget
	out  []byte
	vars map[*Var]int
}

// Encode returns the bytes of a clause. The head's name is not in them. Body is nil or true for a fact.
func Encode(b *txlog.Budget, args []Term, body Term) ([]byte, error) {
	e := encoder{b: b, out: make([]byte, 0, 64)}
	kind := byte(kindRule)
	if body = Deref(b, body); body == nil || body == True {
		kind = kindFact
	}
	e.out = binary.AppendUvarint(append(e.out, kind), uint64(len(args)))
	for _, a := range args {
		if err := e.term(a, 0); err != nil {
			return nil, err
		}
	}
	if kind == kindRule {
		if err := e.term(body, 0); err != nil {
			return nil, err
		}
	}
	return e.out, nil
}

// term writes a term. What is last in a compound is written in the same turn.
func (e *encoder) term(t Term, deep int) error {
	if deep > MostClauseDeep {
		return ErrDeep
	}
	for {
		e.b.Spend(1)
		t = Deref(e.b, t)
		c, is := t.(*Compound)
		if !is {
			return e.simple(t)
		}
		e.out = binary.AppendUvarint(append(e.out, tagTerm), uint64(len(c.Args)))
		if err := e.text(c.Name.Name()); err != nil {
			return err
		}
		for _, a := range c.Args[:len(c.Args)-1] {
			if err := e.term(a, deep+1); err != nil {
				return err
			}
		}
		t = c.Args[len(c.Args)-1]
	}
}

func (e *encoder) simple(t Term) error {
	switch t := t.(type) {
	case *Var:
		n, is := e.vars[t]
		if !is {
			if e.vars == nil {
				e.vars = map[*Var]int{}
			}
			n = len(e.vars)
			e.vars[t] = n
		}
		e.out = binary.AppendUvarint(append(e.out, tagVar), uint64(n))
	case Atom:
		e.out = append(e.out, tagAtom)
		return e.text(t.Name())
	case Int:
		e.out = binary.AppendVarint(append(e.out, tagInt), int64(t))
	case Float:
		if !Finite(float64(t)) {
			return ErrNumber
		}
		e.out = binary.BigEndian.AppendUint64(append(e.out, tagFloat), math.Float64bits(float64(t)))
	}
	return e.size()
}

func (e *encoder) text(s string) error {
	e.b.Spend(len(s) / 16)
	if len(s) > MostClause {
		return ErrLarge
	}
	e.out = append(binary.AppendUvarint(e.out, uint64(len(s))), s...)
	return e.size()
}

func (e *encoder) size() error {
	if len(e.out) > MostClause {
		return ErrLarge
	}
	return nil
}

// decoder reads the bytes of a clause. Texts are parts of them.
type decoder struct {
	rest string
	vars int
	bad  bool
	dry  bool // it only looks whether they are one, and makes no terms
}

// Decode returns the clause that bytes are; false: they are none.
func Decode(raw string) (*Clause, bool) {
	d := decoder{rest: raw}
	c := &Clause{}
	return c, d.clause(c)
}

// clause reads a clause, and reports whether it was one.
func (d *decoder) clause(c *Clause) bool {
	kind := d.byte()
	n := int(d.number())
	if d.bad || n < 0 || n > MostArity || kind != kindFact && kind != kindRule {
		return false
	}
	if n > 0 && !d.dry {
		c.Args = make([]Term, n)
	}
	for i := range n {
		if t, _ := d.term(0); !d.dry {
			c.Args[i] = t
		}
	}
	if kind == kindRule {
		c.Body, _ = d.term(0)
		if c.Body == True {
			return false // it has another form
		}
	}
	c.Vars = d.vars
	return !d.bad && d.rest == ""
}

// DecodeFirst returns the first argument of a clause of its bytes, of which it reads no more than that: of a compound its name and its arity. Nil: it has
// none, or it may be anything.
func DecodeFirst(raw string) (t Term, arity int) {
	d := decoder{rest: raw}
	if d.byte(); d.number() == 0 {
		return nil, 0
	}
	switch tag := d.byte(); tag {
	case tagVar:
		return nil, 0
	case tagTerm:
		arity = int(min(d.number(), MostClause))
		t = NewAtom(d.text())
	default:
		t, _ = d.simple(tag)
	}
	if d.bad {
		return nil, 0
	}
	return t, arity
}

// Valid reports whether bytes are a clause in its one form.
func Valid(raw []byte) bool {
	if len(raw) > MostClause {
		return false
	}
	d := decoder{rest: string(raw), dry: true}
	return d.clause(&Clause{})
}

func (d *decoder) fail() {
	d.bad, d.rest = true, ""
}

func (d *decoder) byte() byte {
	if d.rest == "" {
		d.fail()
		return 0
	}
	c := d.rest[0]
	d.rest = d.rest[1:]
	return c
}

// number reads what AppendUvarint has written.
func (d *decoder) number() uint64 {
	n, shift := uint64(0), 0
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		c := d.rest[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break
		}
		n |= uint64(c&0x7f) << shift
		if shift += 7; c < 0x80 {
			if c == 0 && i > 0 { // it could be shorter
				break
			}
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.fail()
	return 0
}

func (d *decoder) text() string {
	n := d.number()
	if n > uint64(len(d.rest)) || !utf8.ValidString(d.rest[:n]) {
		d.fail()
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

// term reads a term, and says whether a slot is in it.
func (d *decoder) term(deep int) (all Term, open bool) {
	if deep > MostClauseDeep {
		d.fail()
	}
	var spine []*Compound // compounds that end in each other
	var inner Term        // what comes last in one that is not made: all of it is something else
	for into := &all; ; {
		if d.bad {
			return nil, false
		}
		tag := d.byte()
		if tag != tagTerm {
			t, slot := d.simple(tag)
			*into, open = t, slot
			break
		}
		n := d.number()
		name := d.text()
		if d.bad || n == 0 || n > uint64(len(d.rest)) {
			d.fail()
			return nil, false
		}
		if d.dry {
			for range n - 1 {
				d.term(deep + 1)
			}
			into = &inner
			continue
		}
		c := Blank(NewAtom(name), int(n))
		for i := range c.Args[:n-1] {
			var slot bool
			c.Args[i], slot = d.term(deep + 1)
			c.Open = c.Open || slot
		}
		*into = c
		into = &c.Args[n-1]
		spine = append(spine, c)
	}
	for _, s := range slices.Backward(spine) {
		open = open || s.Open
		s.Open = open
	}
	return all, open
}

func (d *decoder) simple(tag byte) (t Term, slot bool) {
	switch tag {
	case tagVar:
		n := int(min(d.number(), MostClause))
		switch {
		case n > d.vars:
			d.fail() // not in the order of first occurrences
		case n == d.vars:
			d.vars++
		}
		return Slot(n), true
	case tagAtom:
		name := d.text()
		if d.dry && name != "true" {
			return nil, false
		}
		return NewAtom(name), false
	case tagInt:
		u := d.number()
		if d.dry {
			return nil, false
		}
		return Int(int64(u>>1) ^ -int64(u&1)), false
	case tagFloat:
		if len(d.rest) < 8 {
			d.fail()
			return nil, false
		}
		f := math.Float64frombits(binary.BigEndian.Uint64([]byte(d.rest[:8])))
		d.rest = d.rest[8:]
		if !Finite(f) {
			d.fail()
		}
		return Float(f), false
	}
	d.fail()
	return nil, false
}
