package syntax

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

var (
	// ErrLong means that a text would be longer than it may be.
	ErrLong = errors.New("the text is too long")
	// ErrDeep means that a term is deeper than one that is printed may be.
	ErrDeep = errors.New("the term is too deep to be printed")
)

// Style says how terms are written.
type Style struct {
	Quoted     bool // atoms that need quotes have them, so that it reads back
	NoOps      bool // operators are written as other names
	NumberVars bool // '$VAR'(1) is B
	Most       int  // bytes
}

// Writer writes terms. Variables have the names that Name gives.
type Writer struct {
	Style

	Ops  *Ops
	Name func(term.Term) string // of a *Var or a Slot

	b    *txlog.Budget
	out  strings.Builder
	last rune // the last character; 0: none
	deep int

	prefixed bool // an operator before its argument was just written
}

// NewWriter returns a writer.
func NewWriter(b *txlog.Budget, ops *Ops, style Style, name func(term.Term) string) *Writer {
	return &Writer{Style: style, Ops: ops, Name: name, b: b}
}

// Write writes a term beside an operator that admits a priority. The error is ErrLong or ErrDeep, or what a value's writer says.
func (w *Writer) Write(t term.Term, priority int) error { return w.term(t, priority) }

// Reset has it write another text.
func (w *Writer) Reset() {
	w.out.Reset()
	w.last, w.prefixed = 0, false
}

// Text returns what was written.
func (w *Writer) Text() string { return w.out.String() }

// put writes a token, with a space before it if the two would be read as one.
func (w *Writer) put(s string) error {
	w.b.Spend(1 + len(s)/16)
	if w.out.Len()+len(s)+1 > w.Most {
		return ErrLong
	}
	first, _ := utf8.DecodeRuneInString(s)
	if s == "" {
		return nil
	}
	if glue(w.last, first) || w.prefixed && (first == '(' || isDigit(first)) { // -( would begin arguments, and -1 is a number
		w.out.WriteByte(' ')
	}
	w.prefixed = false
	w.out.WriteString(s)
	w.last, _ = utf8.DecodeLastRuneInString(s)
	return nil
}

func glue(last, first rune) bool {
	switch {
	case last == 0:
		return false
	case isAlnum(last):
		return isAlnum(first) || first == '\''
	case isSymbol(last):
		return isSymbol(first)
	case last == '\'':
		return first == '\''
	}
	return false
}

// space writes a space if something is there that is none.
func (w *Writer) space() error {
	if w.last == ' ' || w.last == 0 {
		return nil
	}
	return w.put(" ")
}

func (w *Writer) term(t term.Term, most int) error {
	if w.deep++; w.deep > term.MostDeep {
		return ErrDeep
	}
	defer func() { w.deep-- }()
	switch t := term.Deref(w.b, t).(type) {
	case *term.Var, term.Slot:
		return w.put(w.Name(t))
	case term.Int:
		return w.put(strconv.FormatInt(int64(t), 10))
	case term.Float:
		return w.put(Number(float64(t)))
	case term.Atom:
		return w.operand(t, most)
	case *term.Compound:
		return w.compound(t, most)
	}
	return nil
}

// operand writes an atom that an operator has beside it: one that is an operator has brackets, so that it is not taken for one.
func (w *Writer) operand(a term.Atom, most int) error {
	if most >= 1200 || !w.Ops.is(a) || w.NoOps {
		return w.atom(a)
	}
	return w.inBrackets(func() error { return w.atom(a) })
}

// Argument writes a term as an argument.
func (w *Writer) Argument(t term.Term) error { return w.argument(t) }

// argument writes what stands between brackets and commas.
func (w *Writer) argument(t term.Term) error {
	t = term.Deref(w.b, t)
	if a, is := t.(term.Atom); is {
		return w.atom(a)
	}
	return w.term(t, 999)
}

func (w *Writer) inBrackets(inside func() error) error {
	if err := w.put("("); err != nil {
		return err
	}
	if err := inside(); err != nil {
		return err
	}
	return w.put(")")
}

func (w *Writer) atom(a term.Atom) error {
	if !w.Quoted {
		return w.put(a.Name())
	}
	w.b.Spend(len(a.Name()) / 16)
	return w.put(Quote(a.Name()))
}

func (w *Writer) compound(c *term.Compound, most int) error {
	switch {
	case c.Name == term.Dot && len(c.Args) == 2:
		return w.list(c)
	case w.NumberVars && len(c.Args) == 1 && c.Name.Name() == "$VAR":
		if n, is := term.Deref(w.b, c.Args[0]).(term.Int); is && n >= 0 {
			return w.put(VarName(int(n)))
		}
	case w.NoOps:
	case c.Name == term.Curly && len(c.Args) == 1:
		if err := w.put("{"); err != nil {
			return err
		}
		if err := w.term(c.Args[0], 1200); err != nil {
			return err
		}
		return w.put("}")
	default:
		if done, err := w.operators(c, most); done || err != nil {
			return err
		}
	}
	if err := w.atom(c.Name); err != nil {
		return err
	}
	w.last = 0
	if err := w.put("("); err != nil {
		return err
	}
	for i, a := range c.Args {
		if i > 0 {
			if err := w.put(","); err != nil {
				return err
			}
		}
		if err := w.argument(a); err != nil {
			return err
		}
	}
	return w.put(")")
}

// operators writes a compound whose name is an operator.
func (w *Writer) operators(c *term.Compound, most int) (done bool, err error) {
	if len(c.Args) == 2 {
		if op, is := w.Ops.Get(c.Name, Infix); is {
			return true, w.enclosed(op.Priority > most, func() error { return w.infix(c, op) })
		}
		return false, nil
	}
	if len(c.Args) != 1 || c.Name == term.Minus && isNumber(term.Deref(w.b, c.Args[0])) || c.Name == term.Plus && isNumber(term.Deref(w.b, c.Args[0])) {
		return false, nil // -(1) is no number
	}
	if op, is := w.Ops.Get(c.Name, Prefix); is {
		return true, w.enclosed(op.Priority > most, func() error { return w.prefix(c, op) })
	}
	if op, is := w.Ops.Get(c.Name, Postfix); is {
		return true, w.enclosed(op.Priority > most, func() error {
			left, _ := op.sides()
			if err := w.term(c.Args[0], left); err != nil {
				return err
			}
			return w.atom(c.Name)
		})
	}
	return false, nil
}

func isNumber(t term.Term) bool {
	switch t.(type) {
	case term.Int, term.Float:
		return true
	}
	return false
}

func (w *Writer) enclosed(brackets bool, inside func() error) error {
	if brackets {
		return w.inBrackets(inside)
	}
	return inside()
}

func (w *Writer) prefix(c *term.Compound, op Op) error {
	if err := w.atom(c.Name); err != nil {
		return err
	}
	_, right := op.sides()
	w.prefixed = true
	return w.term(c.Args[0], right)
}

func (w *Writer) infix(c *term.Compound, op Op) error {
	left, right := op.sides()
	if err := w.term(c.Args[0], left); err != nil {
		return err
	}
	var err error
	switch name := c.Name.Name(); {
	case name == ",":
		err = w.put(",")
	case name == "|":
		err = w.put("|")
	case alphaName(name) || name == ":-" || name == "-->":
		if err = w.space(); err == nil {
			err = w.atom(c.Name)
		}
		if err == nil {
			err = w.space()
		}
	default:
		err = w.atom(c.Name)
	}
	if err != nil {
		return err
	}
	return w.term(c.Args[1], right)
}

func alphaName(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	return isAlnum(r)
}

// list writes a list, element by element.
func (w *Writer) list(c *term.Compound) error {
	if err := w.put("["); err != nil {
		return err
	}
	for {
		if err := w.argument(c.Args[0]); err != nil {
			return err
		}
		next := term.Deref(w.b, c.Args[1])
		more, is := term.IsCons(next)
		switch {
		case is:
			if err := w.put(","); err != nil {
				return err
			}
			c = more
			continue
		case next != term.Nil:
			if err := w.put("|"); err != nil {
				return err
			}
			if err := w.argument(next); err != nil {
				return err
			}
		}
		return w.put("]")
	}
}

// VarName returns the name of a variable with a number: a letter, and from the 27th on with a number after it.
func VarName(n int) string {
	if n < 26 {
		return string(rune('A' + n))
	}
	return string(rune('A'+n%26)) + strconv.Itoa(n/26)
}

// Number returns the text of a float: the shortest that reads back.
func Number(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if exp := strings.IndexByte(s, 'e'); exp >= 0 {
		power, _ := strconv.Atoi(s[exp+1:])
		if power < 0 || power >= 15 {
			digits := s[:exp]
			if !strings.Contains(digits, ".") {
				digits += ".0"
			}
			return digits + "e" + strconv.Itoa(power)
		}
		s = strconv.FormatFloat(f, 'f', -1, 64)
	}
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Quote returns the text of an atom, in quotes if it needs them.
func Quote(name string) string {
	if plain(name) {
		return name
	}
	var out strings.Builder
	out.WriteByte('\'')
	for _, r := range name {
		if at := strings.IndexRune("\a\b\f\n\r\t\v\\'", r); at >= 0 {
			out.WriteByte('\\')
			out.WriteByte(`abfnrtv\'`[at])
			continue
		}
		if r == 0 || !unicode.IsPrint(r) {
			out.WriteString(`\x` + strconv.FormatInt(int64(r), 16) + `\`)
			continue
		}
		out.WriteRune(r)
	}
	out.WriteByte('\'')
	return out.String()
}

// plain reports whether a name reads as itself without quotes.
func plain(name string) bool {
	switch name {
	case "[]", "{}", ";", "!":
		return true
	case "", ".":
		return false
	}
	first, _ := utf8.DecodeRuneInString(name)
	if isSymbol(first) {
		return strings.IndexFunc(name, func(r rune) bool { return !isSymbol(r) }) < 0 && !strings.HasPrefix(name, "/*")
	}
	return !isUpper(first) && unicode.IsLetter(first) && strings.IndexFunc(name, func(r rune) bool { return !isAlnum(r) }) < 0
}
