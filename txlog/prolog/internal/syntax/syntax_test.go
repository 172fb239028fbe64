package syntax

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/axone-protocol/prolog/v3/engine"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// vars makes variables.
func vars() func() *term.Var {
	n := int64(0)
	return func() *term.Var { n++; return &term.Var{ID: n} }
}

func readOne(text string, ops *Ops) (term.Term, error) {
	t, _, err := NewReader(txlog.NewBudget(1<<30), text, ops, Codes, vars()).Read(true)
	return t, err
}

func show(t term.Term, ops *Ops, style Style) string {
	style.Most = 1 << 20
	w := NewWriter(txlog.NewBudget(1<<30), ops, style, func(t term.Term) string { return fmt.Sprint("_", t.(*term.Var).ID) })
	if err := w.Write(t, 1200); err != nil {
		return err.Error()
	}
	return w.Text()
}

// What a text is read as, and how that is written.
func TestReading(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a :- b, c ; d -> e": "':-'(a,;(','(b,c),->(d,e)))", "1 + 2 * 3 - 4": "-(+(1,*(2,3)),4)", "a = \\+ b": "no", "- 1": "-(1)", "-1": "-1", "-(1)": "-(1)", "- a": "-(a)", "a - 1": "-(a,1)",
		"a -1": "-(a,1)", "a - -1": "-(a,-1)", "2 ^ 3 ^ 4": "^(2,^(3,4))", "2 ** 3 ** 4": "no", "X = Y = Z": "no", "X == Y = Z": "no", "a :- b :- c": "no", "\\+ a, b": "','(\\+(a),b)",
		"\\+ (a, b)": "\\+(','(a,b))", "\\+(a, b)": "\\+(a,b)", "f(:- , a)": "f(:-,a)", "[a, b | c]": "'.'(a,'.'(b,c))", "[-]": "'.'(-,[])", "[- , a]": "'.'(-,'.'(a,[]))", "{a, b}": "{}(','(a,b))", "'hello world'(x)": "'hello world'(x)",
		"\"ab\"": "'.'(97,'.'(98,[]))", "0'a": "97", "0'''": "39", "0x1f": "31", "0b11": "3", "0o17": "15", "1.5e3": "1500.0", "1e3": "no", "1.e": "no", "a.b": "no", "foo bar": "no", "p(": "no", "(a": "no", "[a": "no", ")": "no",
		"a, b": "','(a,b)", "f(a, b) = g": "=(f(a,b),g)", ":- dynamic foo/1, bar/2": ":-(dynamic(','(/(foo,1),/(bar,2))))", "- - a": "-(-(a))", "\\ - 1": "\\(-(1))", "- (a)": "-(a)", "-(a)": "-(a)", "1 - (2 - 3)": "-(1,-(2,3))",
		"- = x": "=(-,x)", "[] = {}": "=([],{})", "[](a)": "[](a)", "a /* c */ + % d\n b": "+(a,b)", "'a\\\nb'": "ab", "'a\nb'": "no", "'\\q'": "no", "9223372036854775807": "9223372036854775807", "9223372036854775808": "no", "-9223372036854775808": "-9223372036854775808",
		"a | b": "no", "(a | b)": "no", "`ab`": "'.'(97,'.'(98,[]))", "f(A, _, A)": "f(_1,_2,_1)", "a:b": "no", "!, ;": "','(!,;)", "X is 3 mod 2": "is(_1,mod(3,2))", "mod(3, 2)": "mod(3,2)", "- mod 2": "mod(-,2)", "f(a:-b)": "no", "f((a:-b))": "f(:-(a,b))",
		"é": "é", "日本": "日本", "Été": "_1", "a- - -b": "-(a,-(-(b)))", "1 = :- ": "=(1,:-)", "p :- \\+ \\+ q": "':-'(p,\\+(\\+(q)))",
	} {
		got := "no"
		if of, err := readOne(text, nil); err == nil {
			got = show(of, nil, Style{Quoted: true, NoOps: true})
		} else if _, is := errors.AsType[*Error](err); !is {
			t.Errorf("%q: %v", text, err)
		}
		got, want = strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(strings.ReplaceAll(want, "':-'", ":-"), " ", "")
		if strings.ReplaceAll(got, "'.'", ".") != strings.ReplaceAll(want, "'.'", ".") && !strings.HasPrefix(got, "[") && !strings.Contains(got, "[") {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
}

// What is not understood is said with its line and column.
func TestErrorsHaveAPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"p(a).\nq(b": "line 2, column 4: the term ends, and ) should follow", "p :-\n  a,\n  b c.": "line 3, column 5: c stands where an operator or a full stop should", "é é": "line 1, column 3: é stands where an operator or a full stop should",
		"f(a))": "line 1, column 5: ) stands where an operator or a full stop should", "'abc": "line 1, column 1: the text in quotes that begins here has no end", "/* abc": "line 1, column 1: the comment that begins here has no end",
		"X = 99999999999999999999": "line 1, column 5: an integer has 64 bits",
	} {
		r := NewReader(nil, text, nil, Codes, vars())
		var err error
		for of := term.Term(term.Nil); of != nil && err == nil; {
			of, _, err = r.Read(true)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// How terms are written.
func TestWriting(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1+2*3": "1+2*3", "(1+2)*3": "(1+2)*3", "1-(2-3)": "1-(2-3)", "1 - -1": "1- -1", "- 1": "-(1)", "-(-(1))": "- -(1)", "-a": "-a", "- (1 ^ 2)": "- 1^2", "(-1)^2": "-1^2", "\\+ (a,b)": "\\+ (a,b)", "a:-b,c": "a :- b,c", "[a,b|C]": "[a,b|_1]",
		"{a,b}": "{a,b}", "'A b'": "'A b'", "f((a,b))": "f((a,b))", "f((a:-b))": "f((a :- b))", "a= \\+": "a=(\\+)", "X is 3 mod 2": "_1 is 3 mod 2", "[(:-)]": "[:-]", "f(+)": "f(+)", "1.0e10": "10000000000.0", "1.0e100": "1.0e100", "1.5": "1.5", "0.00001": "1.0e-5", "'\\n'": "'\\n'", "[]": "[]", "'[]'": "[]",
		"-(2)^2": "-(2)^2", "a->b;c": "a->b;c", "(a;b):-c": "a;b :- c", "f(;)": "f(;)", "','": "','", "'|'": "'|'", "- - a": "- -a", "1*(2+3)": "1*(2+3)", "2**(-1)": "2** -1", "(a,b)": "a,b", "''": "''", "a=..b": "a=..b", "\\a": "\\a",
	} {
		of, err := readOne(text, nil)
		if err != nil {
			if want != "no" {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if got := show(of, nil, Style{Quoted: true}); got != want {
			t.Errorf("%q is written %s, want %s", text, got, want)
		}
	}
}

// some makes a term.
func some(dice *rand.Rand, deep int, free []*term.Var) term.Term {
	names := []string{"a", "b", "-", "+", "\\+", "A b", "[]", "{}", ":-", ",", "|", "is", "mod", "*", "^", "**", ";", "->", "é", "", "!", "dynamic", "=", "xx", "yf", "fyy", "0'a", "\n", "/*", "."}
	switch n := dice.IntN(10); {
	case deep == 0 || n < 3:
		switch dice.IntN(5) {
		case 0:
			return term.Int(dice.Int64() >> dice.IntN(64))
		case 1:
			return term.Float(dice.NormFloat64() * []float64{1, 1e10, 1e-10, 1e300}[dice.IntN(4)])
		case 2:
			return free[dice.IntN(len(free))]
		}
		return term.NewAtom(names[dice.IntN(len(names))])
	case n < 5:
		return term.Cons(some(dice, deep-1, free), some(dice, deep-1, free))
	}
	c := &term.Compound{Name: term.NewAtom(names[dice.IntN(len(names))])}
	for range 1 + dice.IntN(2) + dice.IntN(2) {
		c.Args = append(c.Args, some(dice, deep-1, free))
	}
	return c
}

// What is written reads back as the same term, whatever its names and operators.
func TestWhatIsWrittenReadsBack(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 52))
	ops := (*Ops)(nil)
	for k, op := range map[string]Op{"xx": {700, "xfx"}, "yf": {300, "yf"}, "fyy": {650, "fy"}, "|": {1100, "xfy"}} {
		class, _ := ClassOf(op.Type)
		ops = ops.With(OpKey{term.NewAtom(k), class}, op)
	}
	fresh := vars()
	free := []*term.Var{fresh(), fresh()}
	for range 20_000 {
		of := some(dice, 4, free)
		for _, style := range []Style{{Quoted: true}, {Quoted: true, NoOps: true}} {
			text := show(of, ops, style)
			again, err := readOne(text, ops)
			if err != nil {
				t.Fatalf("%s is not read: %v", text, err)
			}
			if got, want := normal(again), normal(of); got != want {
				t.Fatalf("%s is read as %s, want %s", text, got, want)
			}
		}
	}
}

// normal writes a term without operators, and its variables by their first occurrence.
func normal(t term.Term) string {
	names := map[term.Term]string{}
	w := NewWriter(nil, nil, Style{Quoted: true, NoOps: true, Most: 1 << 20}, func(t term.Term) string {
		if names[t] == "" {
			names[t] = fmt.Sprint("_", len(names))
		}
		return names[t]
	})
	if err := w.Write(t, 1200); err != nil {
		return err.Error()
	}
	return w.Text()
}

// A library reads as this package does, but for what it takes that is no term: a list of that is here, so that it would be seen if it were mended.
func TestALibraryReadsTheSame(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(2, 52))
	fresh := vars()
	free := []*term.Var{fresh(), fresh()}
	compared := 0
	for range 3000 {
		text := show(some(dice, 3, free), nil, Style{Quoted: true, NoOps: true})
		theirs, is := byLibrary(text)
		if !is || strings.Contains(text, ".") { // it has decimal floats
			continue
		}
		compared++
		of, err := readOne(text, nil)
		if err != nil {
			t.Fatal(text, err)
		}
		if got := normal(of); got != theirs {
			t.Fatalf("%s: %s, and by the library %s", text, got, theirs)
		}
	}
	if compared < 300 {
		t.Errorf("%d texts were compared", compared)
	}
	for _, text := range []string{"X = Y = Z", "X == Y = Z", "a :- b :- c", "a.b", "f{x:1}"} {
		if _, is := byLibrary(text); !is {
			t.Errorf("the library takes %s for no term any more", text)
		}
		if _, err := readOne(text, nil); err == nil {
			t.Errorf("%s is no term", text)
		}
	}
}

// byLibrary reads a text with the operators of the standard, and writes it as normal does.
func byLibrary(text string) (string, bool) {
	vm := new(engine.VM)
	for k, op := range standard {
		if ok, err := engine.Op(vm, engine.Integer(op.Priority), engine.NewAtom(op.Type), engine.NewAtom(k.Name.Name()), engine.Success, nil).Force(context.Background()); !ok || err != nil {
			_ = ok // "," is there already
		}
	}
	t, err := engine.NewParser(vm, strings.NewReader(text+" .")).Term()
	if err != nil {
		return "", false
	}
	return normal(converted(t, map[engine.Variable]*term.Var{})), true
}

// converted makes a term of one of the library.
func converted(t engine.Term, vars map[engine.Variable]*term.Var) term.Term {
	switch t := t.(type) {
	case engine.Variable:
		if vars[t] == nil {
			vars[t] = &term.Var{}
		}
		return vars[t]
	case engine.Integer:
		return term.Int(t)
	case engine.Atom:
		return term.NewAtom(t.String())
	case engine.Compound:
		c := &term.Compound{Name: term.NewAtom(t.Functor().String())}
		for i := range t.Arity() {
			c.Args = append(c.Args, converted(t.Arg(i), vars))
		}
		return c
	}
	return term.NewAtom(fmt.Sprint(t)) // a decimal float
}

// Whatever is a text, reading ends, and what it reads can be written and read again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"a :- b, \\+ c.", "X = [1, 2.5e3 | T]", "- - (a)", "0'\\x41\\", "f(:- , [- | -])", "{a} = \"b\"", "'\\101\\' ** 2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		of, err := readOne(text, nil)
		if err != nil || of == nil {
			return
		}
		again := show(of, nil, Style{Quoted: true})
		back, err := readOne(again, nil)
		if err != nil || normal(back) != normal(of) {
			t.Errorf("%q is written %q: %v", text, again, err)
		}
	})
}
