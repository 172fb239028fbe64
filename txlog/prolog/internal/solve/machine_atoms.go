package solve

import (
	"strings"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

func init() { //nolint:gochecknoinits // a table
	define("atom_length", 2, atomLength)
	define("atom_concat", 3, atomConcat)
	define("sub_atom", 5, subAtom)
	define("atom_chars", 2, textOf(false, false))
	define("atom_codes", 2, textOf(false, true))
	define("number_chars", 2, textOf(true, false))
	define("number_codes", 2, textOf(true, true))
	define("char_code", 2, charCode)
	define("atom_number", 2, atomNumber)
	define("upcase_atom", 2, cased(strings.ToUpper))
	define("downcase_atom", 2, cased(strings.ToLower))
	define("term_to_atom", 2, termToAtom)
	define("$join", 3, join)
	define("$split", 3, split)
}

// text returns the text of an atom or a number.
func (m *Machine) text(t term.Term) (string, error) {
	t = m.deref(t)
	switch t := t.(type) {
	case *term.Var:
		return "", instantiation()
	case term.Atom:
		return t.Name(), nil
	case term.Int, term.Float:
		return m.show(t, syntax.Style{Most: 100}, 0)
	}
	return "", typeError("atomic", t)
}

// atom makes an atom of a text that was paid for.
func (m *Machine) atom(s string) (term.Atom, error) {
	if len(s) > MostText {
		return term.Atom{}, resource("text")
	}
	return m.makeAtom(s), nil
}

// atomSteps is what a new atom costs beside its text: the process keeps one table of all.
const atomSteps = 8

// makeAtom makes an atom of a text that was paid for, and is short enough. One of a single character costs nothing: the table has it.
func (m *Machine) makeAtom(s string) term.Atom {
	if len(s) > utf8.UTFMax {
		m.Budget.Spend(atomSteps)
	}
	return term.NewAtom(s)
}

func atomLength(m *Machine, a []term.Term) (bool, error) {
	name, err := m.atomArg(a[0])
	if err != nil {
		return false, err
	}
	s := name.Name()
	if n := m.deref(a[1]); !isVar(n) {
		if !isInt(n) {
			return false, typeError("integer", n)
		}
		if compareNumbers(n, term.Int(0)) < 0 {
			return false, domainError("not_less_than_zero", n)
		}
	}
	m.Budget.Spend(len(s) / 16)
	return m.unify(a[1], term.Int(utf8.RuneCountInString(s))), nil
}

func atomConcat(m *Machine, a []term.Term) (bool, error) {
	x, y := m.deref(a[0]), m.deref(a[1])
	for _, t := range []term.Term{x, y} {
		if isCompound(t) {
			return false, typeError("atom", t)
		}
	}
	if !isVar(x) && !isVar(y) {
		s, err := m.text(x)
		if err != nil {
			return false, err
		}
		r, err := m.text(y)
		if err != nil {
			return false, err
		}
		m.Budget.Spend((len(s) + len(r)) / 16)
		if len(s)+len(r) > MostText {
			return false, resource("text")
		}
		return m.unify(a[2], m.makeAtom(s+r)), nil
	}
	if z := m.deref(a[2]); isCompound(z) {
		return false, typeError("atom", z)
	}
	whole, err := m.text(a[2])
	if err != nil {
		return false, err
	}
	at := -1
	return m.try(func(m *Machine) (found, more bool) {
		m.Budget.Spend(1 + len(whole)/16)
		if at < 0 {
			at = 0
		} else {
			_, size := utf8.DecodeRuneInString(whole[at:])
			at += size
		}
		return m.unify(x, m.makeAtom(whole[:at])) && m.unify(y, m.makeAtom(whole[at:])), at < len(whole)
	})
}

// textOf is atom_chars/2 and its kin.
func textOf(number, codes bool) builtin {
	return func(m *Machine, a []term.Term) (bool, error) {
		t := m.deref(a[0])
		switch {
		case isCompound(t) && number:
			return false, typeError("number", t)
		case isCompound(t):
			return false, typeError("atom", t)
		case number && isAtom(t):
			return false, typeError("number", t)
		}
		s, whole, err := m.characters(a[1], !isVar(t), codes)
		if err != nil {
			return false, err
		}
		if !isVar(t) && (!number || !whole) {
			text, err := m.text(t)
			if err != nil {
				return false, err
			}
			return m.unify(a[1], m.textList(text, codes)), nil
		}
		if !whole {
			return false, instantiation()
		}
		if number {
			n, err := m.number(s)
			return err == nil && m.unify(t, n), err
		}
		atom, err := m.atom(s)
		return err == nil && m.unify(t, atom), err
	}
}

// textList makes a list of the characters of a text, or of their codes.
func (m *Machine) textList(s string, codes bool) term.Term {
	m.Budget.Spend(len(s))
	var all []term.Term
	for _, r := range s {
		if codes {
			all = append(all, term.Int(r))
		} else {
			all = append(all, term.NewAtom(string(r)))
		}
	}
	return term.List(all...)
}

// characters returns the text of a list of characters or of codes; whole: all are known. Parts that are not known are no error if they need not be.
func (m *Machine) characters(t term.Term, partial, codes bool) (s string, whole bool, err error) {
	all, end := m.elements(t)
	if !isVar(end) && end != term.Nil {
		return "", false, typeError("list", t)
	}
	var out strings.Builder
	whole = end == term.Nil
	for _, e := range all {
		m.Budget.Spend(1)
		switch e := m.deref(e).(type) {
		case *term.Var:
			whole = false
		case term.Int:
			if !codes {
				return "", false, typeError("character", e)
			}
			if e < 0 || e > utf8.MaxRune || !utf8.ValidRune(rune(e)) {
				return "", false, representation("character_code")
			}
			out.WriteRune(rune(e))
		case term.Atom:
			if utf8.RuneCountInString(e.Name()) != 1 {
				return "", false, typeError("character", e)
			}
			out.WriteString(e.Name())
		default:
			return "", false, typeError("character", e)
		}
	}
	if !whole && !partial {
		return "", false, instantiation()
	}
	return out.String(), whole, nil
}

// number reads a number.
func (m *Machine) number(s string) (term.Term, error) {
	r := syntax.NewReader(m.Budget, s, nil, syntax.Codes, m.NewVar)
	t, _, err := r.Read(true)
	trimmed := strings.TrimRight(s, " \t\n\r")
	if err != nil || !isNumber(t) || len(trimmed) < len(s) || strings.HasSuffix(s, ".") {
		return nil, syntaxError("illegal_number")
	}
	return t, nil
}

func charCode(m *Machine, a []term.Term) (bool, error) {
	c, n := m.deref(a[0]), m.deref(a[1])
	if atom, is := c.(term.Atom); is {
		if utf8.RuneCountInString(atom.Name()) != 1 {
			return false, typeError("character", c)
		}
		if !isVar(n) && !isInt(n) {
			return false, typeError("integer", n)
		}
		r, _ := utf8.DecodeRuneInString(atom.Name())
		return m.unify(n, term.Int(r)), nil
	}
	if !isVar(c) {
		return false, typeError("character", c)
	}
	code, err := m.intArg(n)
	if err != nil {
		return false, err
	}
	if code < 0 || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
		return false, representation("character_code")
	}
	return m.unify(c, term.NewAtom(string(rune(code)))), nil
}

func atomNumber(m *Machine, a []term.Term) (bool, error) {
	t := m.deref(a[0])
	if isVar(t) {
		n := m.deref(a[1])
		if isVar(n) {
			return false, instantiation()
		}
		if !isNumber(n) {
			return false, typeError("number", n)
		}
		s, err := m.text(n)
		return err == nil && m.unify(t, m.makeAtom(s)), err
	}
	atom, is := t.(term.Atom)
	if !is {
		return false, typeError("atom", t)
	}
	n, err := m.number(atom.Name())
	return err == nil && m.unify(a[1], n), nil
}

func cased(f func(string) string) builtin {
	return func(m *Machine, a []term.Term) (bool, error) {
		s, err := m.text(a[0])
		if err != nil {
			return false, err
		}
		m.Budget.Spend(len(s) / 4)
		return m.unify(a[1], m.makeAtom(f(s))), nil
	}
}

func termToAtom(m *Machine, a []term.Term) (bool, error) {
	if t := m.deref(a[0]); !isVar(t) {
		s, err := m.show(t, syntax.Style{Quoted: true, NumberVars: true, Most: MostText}, 1200)
		return err == nil && m.unify(a[1], m.makeAtom(s)), err
	}
	s, err := m.text(a[1])
	if err != nil {
		return false, err
	}
	t, err := m.read(s)
	return err == nil && m.unify(a[0], t), err
}

// read reads a term of a text.
func (m *Machine) read(s string) (term.Term, error) {
	t, _, err := syntax.NewReader(m.Budget, s, m.Draft.Ops(), m.Quotes(), m.NewVar).Read(true)
	switch {
	case err != nil:
		return nil, syntaxError(err.Error())
	case t == nil:
		return nil, syntaxError("the text is empty")
	}
	return t, nil
}

// Quotes returns what a text in double quotes is.
func (m *Machine) Quotes() syntax.Quotes {
	if q := m.Draft.Flag("double_quotes"); q != "" {
		return syntax.Quotes(q)
	}
	return syntax.Codes
}

// join makes a text of the texts of a list, with another between them.
func join(m *Machine, a []term.Term) (bool, error) {
	all, err := m.list(a[0])
	if err != nil {
		return false, err
	}
	between, err := m.text(a[1])
	if err != nil {
		return false, err
	}
	var out strings.Builder
	for i, t := range all {
		s, err := m.text(t)
		if err != nil {
			return false, err
		}
		m.Budget.Spend(1 + (len(s)+len(between))/16)
		if out.Len()+len(s)+len(between) > MostText {
			return false, resource("text")
		}
		if i > 0 {
			out.WriteString(between)
		}
		out.WriteString(s)
	}
	return m.unify(a[2], m.makeAtom(out.String())), nil
}

// split cuts a text at another.
func split(m *Machine, a []term.Term) (bool, error) {
	s, err := m.text(a[0])
	if err != nil {
		return false, err
	}
	at, err := m.text(a[1])
	if err != nil {
		return false, err
	}
	if at == "" {
		return false, domainError("non_empty_atom", a[1])
	}
	m.Budget.Spend(len(s))
	var all []term.Term
	for part := range strings.SplitSeq(s, at) {
		all = append(all, m.makeAtom(part))
	}
	return m.unify(a[2], term.List(all...)), nil
}
