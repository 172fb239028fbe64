package syntax

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// Quotes says what a text in double quotes is.
type Quotes string

// The kinds of it.
const (
	Codes Quotes = "codes"
	Chars Quotes = "chars"
	Name  Quotes = "atom"
)

// NamedVar is a variable of a term that was read and has a name; a list of them is in the order of their first occurrence.
type NamedVar struct {
	Name string
	Var  *term.Var
	Once bool // it occurs once
}

// Reader reads the terms of a text, one after the other. Ops and Quotes may change between two.
type Reader struct {
	Ops    *Ops
	Quotes Quotes
	NewVar func() *term.Var

	lex  lexer
	now  token
	vars []NamedVar
	deep int
}

// NewReader returns a reader of a text, which must be UTF-8.
func NewReader(b *txlog.Budget, text string, ops *Ops, quotes Quotes, newVar func() *term.Var) *Reader {
	return &Reader{Ops: ops, Quotes: quotes, NewVar: newVar, lex: lexer{b: b, text: text}}
}

// Read returns the next term with its variables; nil: there is none. Each term ends with a full stop; with last, the last one of the text need not. After an
// error nothing can be read.
func (r *Reader) Read(last bool) (t term.Term, vars []NamedVar, err error) {
	r.vars, r.deep = nil, 0
	if err := r.advance(); err != nil || r.now.kind == tokEOF {
		return nil, nil, err
	}
	t, err = r.term(1200)
	switch {
	case err != nil:
		return nil, nil, err
	case r.now.kind == tokEnd, last && r.now.kind == tokEOF:
		return t, r.vars, nil
	}
	return nil, nil, r.unexpected("an operator or a full stop")
}

// At returns the place of what was read last, as an error of a text.
func (r *Reader) At(why string) error { return r.lex.fail(r.now.at, why) }

func (r *Reader) advance() (err error) {
	r.now, err = r.lex.next()
	return err
}

func (r *Reader) fail(why string) error { return r.lex.fail(r.now.at, why) }

// unexpected says what should stand here.
func (r *Reader) unexpected(want string) error {
	if r.now.kind == tokEOF || r.now.kind == tokEnd {
		return r.fail("the term ends, and " + want + " should follow")
	}
	end := r.lex.at
	text := r.lex.text[r.now.at:end]
	if len(text) > 40 {
		text = "this"
	}
	return r.fail(text + " stands where " + want + " should")
}

// term reads a term of a priority at most.
func (r *Reader) term(most int) (term.Term, error) {
	if r.deep++; r.deep > term.MostDeep {
		return nil, r.fail("the term is too deep")
	}
	defer func() { r.deep-- }()
	left, priority, err := r.primary(most)
	if err != nil {
		return nil, err
	}
	return r.follow(left, priority, most)
}

// follow reads the operators after a term.
func (r *Reader) follow(left term.Term, priority, most int) (term.Term, error) {
	for {
		name, is := r.operator()
		if !is {
			return left, nil
		}
		if op, is := r.Ops.Get(name, Infix); is && op.Priority <= most {
			if l, right := op.sides(); priority <= l {
				if err := r.advance(); err != nil {
					return nil, err
				}
				second, err := r.term(right)
				if err != nil {
					return nil, err
				}
				left, priority = term.Pair(name, left, second), op.Priority
				continue
			}
		}
		op, is := r.Ops.Get(name, Postfix)
		if l, _ := op.sides(); !is || op.Priority > most || priority > l {
			return left, nil
		}
		if err := r.advance(); err != nil {
			return nil, err
		}
		left, priority = &term.Compound{Name: name, Args: []term.Term{left}}, op.Priority
	}
}

// name returns the atom of the name that stands here.
func (r *Reader) name() term.Atom {
	if r.now.named == (term.Atom{}) {
		r.now.named = term.NewAtom(r.now.text)
	}
	return r.now.named
}

// operator returns the name that stands here, if it can be one of an operator after a term.
func (r *Reader) operator() (term.Atom, bool) {
	switch {
	case r.now.name():
		return r.name(), true
	case r.now.is(","):
		return term.Comma, true
	case r.now.is("|"):
		return term.Bar, true
	}
	return term.Atom{}, false
}

// primary reads a term that begins with no other one.
func (r *Reader) primary(most int) (term.Term, int, error) {
	t := r.now
	switch t.kind {
	case tokNumber:
		if _, is := t.of.(large); is {
			return nil, 0, r.fail("an integer has 64 bits")
		}
		return t.of, 0, r.advance()
	case tokVar:
		return r.variable(t.text), 0, r.advance()
	case tokString:
		return r.text(t.text, r.Quotes), 0, r.advance()
	case tokBack:
		return r.text(t.text, Codes), 0, r.advance()
	case tokPunct:
		return r.bracketed()
	case tokName, tokQuoted:
		t.named = r.name()
		if err := r.advance(); err != nil {
			return nil, 0, err
		}
		return r.named(t, most)
	}
	return nil, 0, r.unexpected("a term")
}

func (r *Reader) variable(name string) term.Term {
	if name == "_" {
		return r.NewVar()
	}
	r.lex.b.Spend(len(r.vars) / 16)
	for i := range r.vars {
		if r.vars[i].Name == name {
			r.vars[i].Once = false
			return r.vars[i].Var
		}
	}
	v := r.NewVar()
	if r.vars == nil {
		r.vars = make([]NamedVar, 0, 4)
	}
	r.vars = append(r.vars, NamedVar{name, v, true})
	return v
}

func (r *Reader) text(s string, as Quotes) term.Term {
	if as == Name {
		return term.NewAtom(s)
	}
	r.lex.b.Spend(len(s))
	var all []term.Term
	for _, c := range s {
		if as == Chars {
			all = append(all, term.NewAtom(string(c)))
		} else {
			all = append(all, term.Int(c))
		}
	}
	return term.List(all...)
}

// bracketed reads what brackets enclose.
func (r *Reader) bracketed() (term.Term, int, error) {
	open := r.now
	if err := r.advance(); err != nil {
		return nil, 0, err
	}
	switch open.text {
	case "(":
		t, err := r.term(1200)
		if err != nil {
			return nil, 0, err
		}
		return t, 0, r.close(")")
	case "[":
		if r.now.is("]") {
			return r.after(term.Nil)
		}
		t, err := r.list()
		return t, 0, err
	case "{":
		if r.now.is("}") {
			return r.after(term.Curly)
		}
		t, err := r.term(1200)
		if err != nil {
			return nil, 0, err
		}
		return &term.Compound{Name: term.Curly, Args: []term.Term{t}}, 0, r.close("}")
	}
	r.now = open
	return nil, 0, r.unexpected("a term")
}

// after reads what follows [] or {}, which are names too.
func (r *Reader) after(name term.Atom) (term.Term, int, error) {
	if err := r.advance(); err != nil {
		return nil, 0, err
	}
	if r.now.is("(") && !r.now.layout {
		t, err := r.arguments(name)
		return t, 0, err
	}
	return name, 0, nil
}

func (r *Reader) close(bracket string) error {
	if !r.now.is(bracket) {
		return r.unexpected(bracket)
	}
	return r.advance()
}

func (r *Reader) list() (term.Term, error) {
	var all []term.Term
	end := term.Term(term.Nil)
	for {
		t, err := r.term(999)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
		if r.now.is(",") {
			if err := r.advance(); err != nil {
				return nil, err
			}
			continue
		}
		if r.now.is("|") {
			if err = r.advance(); err == nil {
				end, err = r.term(999)
			}
			if err != nil {
				return nil, err
			}
		}
		return term.ListWith(all, end), r.close("]")
	}
}

func (r *Reader) arguments(name term.Atom) (term.Term, error) {
	var room [8]term.Term
	for all := room[:0]; ; {
		if err := r.advance(); err != nil {
			return nil, err
		}
		t, err := r.term(999)
		if err != nil {
			return nil, err
		}
		if all = append(all, t); !r.now.is(",") {
			made := term.Blank(name, len(all))
			copy(made.Args, all)
			return made, r.close(")")
		}
	}
}

// named reads what begins with a name: a compound, a negative number, an operator before its argument, or an atom.
func (r *Reader) named(t token, most int) (term.Term, int, error) {
	name := t.named
	if r.now.is("(") && !r.now.layout {
		c, err := r.arguments(name)
		return c, 0, err
	}
	if t.kind == tokName && name == term.Minus && r.now.kind == tokNumber && !r.now.layout {
		n := negative(r.now.of)
		return n, 0, r.advance()
	}
	op, is := r.Ops.Get(name, Prefix)
	if !is || !r.operand() {
		return name, 0, nil
	}
	if op.Priority > most {
		op.Priority = 999 // as an argument: f(:- a)
		if most < 999 {
			return nil, 0, r.lex.fail(t.at, "the operator "+t.text+" needs brackets around it here")
		}
	}
	_, right := op.sides()
	arg, err := r.term(right)
	return &term.Compound{Name: name, Args: []term.Term{arg}}, op.Priority, err
}

func negative(n term.Term) term.Term {
	switch n := n.(type) {
	case term.Int:
		return -n
	case term.Float:
		return -n
	}
	return term.Int(-1 << 63) // large
}

// starts reports whether a term can begin with what stands here.
func (r *Reader) starts() bool {
	switch r.now.kind {
	case tokEOF, tokEnd:
		return false
	case tokPunct:
		return r.now.is("(") || r.now.is("[") || r.now.is("{")
	}
	return true
}

// infixHere reports whether an operator between two terms stands here, or one after a term.
func (r *Reader) infixHere() bool {
	name, is := r.operator()
	if !is {
		return false
	}
	_, infix := r.Ops.Get(name, Infix)
	_, postfix := r.Ops.Get(name, Postfix)
	return infix || postfix
}

// operand reports whether what stands here begins the argument of an operator before it. If that is an operator between two terms itself, it does so only if it
// can be one before its argument too, or has arguments of its own.
func (r *Reader) operand() bool {
	if !r.starts() {
		return false
	}
	if !r.now.name() || !r.infixHere() {
		return true
	}
	if r.lex.at < len(r.lex.text) && r.lex.text[r.lex.at] == '(' {
		return true
	}
	_, prefix := r.Ops.Get(r.name(), Prefix)
	return prefix
}
