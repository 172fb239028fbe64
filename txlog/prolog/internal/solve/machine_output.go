package solve

import (
	"errors"
	"strconv"
	"strings"

	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

func init() { //nolint:gochecknoinits // a table
	for name, style := range map[string]syntax.Style{
		"write": {NumberVars: true}, "print": {Quoted: true, NumberVars: true}, "writeq": {Quoted: true, NumberVars: true}, "write_canonical": {Quoted: true, NoOps: true},
	} {
		style.Most = MostOutput
		define(name, 1, func(m *Machine, a []term.Term) (bool, error) { return m.write(a[0], style, "") })
		if name == "write" || name == "print" {
			define(name+"ln", 1, func(m *Machine, a []term.Term) (bool, error) { return m.write(a[0], style, "\n") })
		}
	}
	define("nl", 0, func(m *Machine, _ []term.Term) (bool, error) { return true, m.say("\n") })
	define("put_char", 1, func(m *Machine, a []term.Term) (bool, error) {
		c, err := m.atomArg(a[0])
		if err != nil {
			return false, err
		}
		if len([]rune(c.Name())) != 1 {
			return false, typeError("character", c)
		}
		return true, m.say(c.Name())
	})
	define("tab", 1, func(m *Machine, a []term.Term) (bool, error) {
		t, err := m.eval(a[0], 0)
		if err != nil {
			return false, err
		}
		n, is := t.(term.Int)
		if !is {
			return false, typeError("integer", t)
		}
		return true, m.say(strings.Repeat(" ", int(max(0, min(n, MostOutput+1)))))
	})
	define("write_term", 2, writeTerm)
	define("format", 1, func(m *Machine, a []term.Term) (bool, error) { return m.format(a[0], term.Nil) })
	define("format", 2, func(m *Machine, a []term.Term) (bool, error) { return m.format(a[0], a[1]) })
	define("$format_atom", 3, func(m *Machine, a []term.Term) (bool, error) {
		before := m.Output.String()
		m.Output.Reset()
		is, err := m.format(a[0], a[1])
		text := m.Output.String()
		m.Output.Reset()
		m.Output.WriteString(before)
		return is && err == nil && m.unify(a[2], m.makeAtom(text)), err
	})
	define("effect", 2, effect)
}

// show returns the text of a term.
func (m *Machine) show(t term.Term, style syntax.Style, priority int) (string, error) {
	w := syntax.NewWriter(m.Budget, m.Draft.Ops(), style, varName)
	if err := w.Write(t, priority); err != nil {
		if errors.Is(err, syntax.ErrLong) {
			return "", resource("text")
		}
		return "", resource("depth")
	}
	return w.Text(), nil
}

// varName names a variable by its number in this goal, which is the same wherever the goal is solved.
func varName(t term.Term) string {
	switch t := t.(type) {
	case *term.Var:
		return "_G" + strconv.FormatInt(t.ID, 10)
	case term.Slot:
		return syntax.VarName(int(t))
	}
	return "_"
}

func (m *Machine) write(t term.Term, style syntax.Style, end string) (bool, error) {
	s, err := m.show(t, style, 1200)
	if err != nil {
		return false, err
	}
	return true, m.say(s + end)
}

// say adds to the text that the goal's answer has beside the bindings.
func (m *Machine) say(s string) error {
	m.Budget.Spend(1 + len(s)/16)
	if m.Output.Len()+len(s) > MostOutput {
		return resource("output")
	}
	m.Output.WriteString(s)
	return nil
}

func writeTerm(m *Machine, a []term.Term) (bool, error) {
	options, err := m.list(a[1])
	if err != nil {
		return false, err
	}
	style := syntax.Style{Most: MostOutput}
	for _, o := range options {
		o := m.deref(o)
		if isVar(o) {
			return false, instantiation()
		}
		c, is := o.(*term.Compound)
		if !is || len(c.Args) != 1 {
			return false, domainError("write_option", o)
		}
		value := m.deref(c.Args[0])
		if isVar(value) {
			return false, instantiation()
		}
		on := value == term.True
		if !on && value != term.False {
			return false, domainError("write_option", o)
		}
		switch c.Name.Name() {
		case "quoted":
			style.Quoted = on
		case "ignore_ops":
			style.NoOps = on
		case "numbervars":
			style.NumberVars = on
		default:
			return false, domainError("write_option", o)
		}
	}
	return m.write(a[0], style, "")
}

// format writes a text with terms in it: ~w ~p ~q ~a ~d ~s ~e ~f ~g ~c ~n ~i ~~.
func (m *Machine) format(of, args term.Term) (bool, error) {
	text, err := m.text(of)
	if list, _, fault := m.characters(of, false, true); err != nil && fault == nil {
		text, err = list, nil
	}
	if err != nil {
		return false, err
	}
	rest, end := m.elements(args)
	if end != term.Nil {
		rest = []term.Term{args}
	}
	for text != "" {
		before, after, more := strings.Cut(text, "~")
		if err := m.say(before); err != nil || !more {
			return err == nil, err
		}
		count := 0
		digits := 0
		for digits < len(after) && after[digits] >= '0' && after[digits] <= '9' && digits < 4 {
			count = count*10 + int(after[digits]-'0')
			digits++
		}
		if digits == len(after) {
			return false, formatError("the text ends after ~")
		}
		verb := after[digits]
		text = after[digits+1:]
		if verb == 'n' || verb == '~' {
			if err := m.say(strings.Repeat(map[byte]string{'n': "\n", '~': "~"}[verb], max(1, count))); err != nil {
				return false, err
			}
			continue
		}
		if len(rest) == 0 {
			return false, formatError("not enough arguments")
		}
		if err := m.verb(verb, count, digits > 0, rest[0]); err != nil {
			return false, err
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return false, formatError("too many arguments")
	}
	return true, nil
}

func formatError(why string) error { return isoError(term.New("format", term.NewAtom(why))) }

func (m *Machine) verb(verb byte, count int, counted bool, t term.Term) error {
	style := syntax.Style{Most: MostOutput, NumberVars: true}
	switch verb {
	case 'w', 'a':
	case 'p', 'q':
		style.Quoted = true
	case 'i':
		return nil
	case 's':
		s, whole, err := m.characters(t, false, true)
		if err == nil && whole {
			err = m.say(s)
		}
		return err
	case 'd', 'c':
		n, err := m.eval(t, 0)
		if err != nil {
			return err
		}
		i, is := n.(term.Int)
		if !is {
			return typeError("integer", n)
		}
		if verb == 'c' {
			return m.say(strings.Repeat(string(rune(min(i, 0x10ffff))), max(1, count)))
		}
		return m.say(pointed(strconv.FormatInt(int64(i), 10), count))
	case 'e', 'f', 'g':
		n, err := m.eval(t, 0)
		if err != nil {
			return err
		}
		if !counted {
			count = 6
		}
		return m.say(strconv.FormatFloat(toFloat(n), verb, min(count, 100), 64))
	default:
		return formatError("there is no ~" + string(rune(verb)))
	}
	s, err := m.show(t, style, 1200)
	if err == nil {
		err = m.say(s)
	}
	return err
}

// pointed puts a point before the last digits of a number.
func pointed(s string, digits int) string {
	if digits == 0 {
		return s
	}
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	if len(s) <= digits {
		s = strings.Repeat("0", digits-len(s)+1) + s
	}
	return sign + s[:len(s)-digits] + "." + s[len(s)-digits:]
}

// effect asks for something outside of the log, once the goal is committed.
func effect(m *Machine, a []term.Term) (bool, error) {
	kind, err := m.atomArg(a[0])
	if err != nil {
		return false, err
	}
	if m.ReadOnly {
		return false, permission("modify", "query", indicator(nameOf(term.New("effect", term.Nil, term.Nil))))
	}
	if n := len(kind.Name()); n == 0 || n > 128 {
		return false, domainError("effect_kind", kind)
	}
	body, err := m.show(a[1], syntax.Style{Quoted: true, Most: mostBody}, 1200)
	if err != nil {
		return false, err
	}
	if len(m.Effects) == mostEffects {
		return false, resource("effects")
	}
	m.Effects = append(m.Effects, Effect{kind.Name(), body})
	return true, nil
}
