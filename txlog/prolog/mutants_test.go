package prolog

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// mutants make goals of bombs: parts of some in the place of parts of others, with other numbers, names, arities and variables. They are terms until they are
// written, so that nearly all can be read.
type mutants struct {
	bombs []term.Term // as they are
	parts []term.Term // all that is in them
	names []term.Atom // of what has arguments, and some more
	vars  []term.Term
	named map[string]*term.Var // X of one bomb is X of another
}

func newMutants(t *testing.T) *mutants {
	t.Helper()
	m := &mutants{named: map[string]*term.Var{}}
	for _, goal := range bombs {
		m.bombs = append(m.bombs, m.read(t, goal))
	}
	for _, goal := range m.bombs {
		m.collect(goal)
	}
	for _, name := range []string{
		"p", "q", "loop", "mem", "isa", "twice", "app", "long", "=..", "arg", "sub_atom", "atom_length", "nth0", "retract", "retractall", "asserta", "abolish", "clause", "once",
		"call", "atom_chars", "number_codes", "keysort", "setof", "effect", "current_op", "current_predicate", "dynamic", "reverse", "last", "nb_getval", "**", "mod", "@<",
	} {
		m.names = append(m.names, term.NewAtom(name))
	}
	return m
}

// read reads a goal. Its variables are those of the other goals.
func (m *mutants) read(t *testing.T, goal string) term.Term {
	t.Helper()
	got, vars, err := syntax.NewReader(nil, goal, nil, syntax.Codes, func() *term.Var { return &term.Var{} }).Read(true)
	if err != nil {
		t.Fatalf("%s: %v", goal, err)
	}
	for _, v := range vars {
		if m.named[v.Name] == nil {
			m.named[v.Name] = &term.Var{}
			m.vars = append(m.vars, m.named[v.Name])
		}
		v.Var.Ref = m.named[v.Name]
	}
	return got
}

func (m *mutants) collect(t term.Term) {
	t = term.Deref(nil, t)
	m.parts = append(m.parts, t)
	if c, is := t.(*term.Compound); is {
		m.names = append(m.names, c.Name)
		for _, a := range c.Args {
			m.collect(a)
		}
	}
}

// called returns the name of a variable.
func (m *mutants) called(t term.Term) string {
	for name, v := range m.named {
		if v == t {
			return name
		}
	}
	return "_"
}

func one[E any](dice *rand.Rand, of []E) E { return of[dice.IntN(len(of))] }

// goal makes a goal.
func (m *mutants) goal(dice *rand.Rand) string {
	goal := one(dice, m.bombs)
	for range dice.IntN(3) {
		goal = m.joined(dice, goal, one(dice, m.bombs))
	}
	for range dice.IntN(6) {
		left := 1 + dice.IntN(24)
		goal = m.changed(dice, goal, &left)
	}
	w := syntax.NewWriter(nil, nil, syntax.Style{Quoted: true, Most: txlog.MostGoal}, m.called)
	if w.Write(goal, 1200) != nil {
		return "loop"
	}
	text := w.Text()
	if dice.IntN(20) > 0 {
		return text
	}
	i := dice.IntN(len(text)) // and of a few the text
	return text[:i] + one(dice, []string{"", "(", ")", "'", ",", "X", " ", "-", "0'"}) + text[i+dice.IntN(2):]
}

// joined makes a goal of two.
func (m *mutants) joined(dice *rand.Rand, a, b term.Term) term.Term {
	x := one(dice, m.vars)
	switch dice.IntN(9) {
	case 0:
		return term.Pair(term.Semi, a, b)
	case 1:
		return term.Pair(term.Semi, term.Pair(term.Arrow, a, b), term.True)
	case 2:
		return term.New("catch", a, x, b)
	case 3:
		return term.Pair(term.Comma, term.New("findall", x, a, one(dice, m.vars)), b)
	case 4:
		return term.Pair(term.Comma, term.New("\\+", a), b)
	case 5:
		return term.New("forall", a, b)
	case 6:
		return term.Pair(term.Comma, term.New("assertz", term.Pair(term.Neck, term.New("q", x), a)), b)
	case 7:
		return term.Pair(term.Semi, term.Pair(term.Comma, a, term.Fail), b)
	}
	return term.Pair(term.Comma, a, b)
}

// changed changes a part: that at which none is left. What it is in is copied.
func (m *mutants) changed(dice *rand.Rand, t term.Term, left *int) term.Term {
	t = term.Deref(nil, t)
	if *left--; *left == 0 {
		return m.other(dice, t)
	}
	c, is := t.(*term.Compound)
	if !is || *left < 0 {
		return t
	}
	made := &term.Compound{Name: c.Name, Args: slices.Clone(c.Args)}
	for i := range made.Args {
		made.Args[i] = m.changed(dice, made.Args[i], left)
	}
	return made
}

// other makes another term of one.
func (m *mutants) other(dice *rand.Rand, t term.Term) term.Term {
	if n, is := t.(term.Int); is && dice.IntN(4) > 0 {
		return one(dice, []term.Term{-n, n + 1, n * n, term.Int(dice.IntN(1 << dice.IntN(31))), term.Int(1<<63 - 1), term.Float(n), term.Float(n) + 0.5})
	}
	c, is := t.(*term.Compound)
	if !is || dice.IntN(3) == 0 {
		return one(dice, one(dice, [][]term.Term{m.parts, m.vars, m.bombs}))
	}
	made := &term.Compound{Name: c.Name, Args: slices.Clone(c.Args)}
	i, k := dice.IntN(len(made.Args)), dice.IntN(len(made.Args))
	switch dice.IntN(4) {
	case 0:
		made.Name = one(dice, m.names)
	case 1:
		made.Args = slices.Insert(made.Args, i, one(dice, m.parts))
	case 2:
		if made.Args = slices.Delete(made.Args, i, i+1); len(made.Args) == 0 {
			return made.Name
		}
	default:
		made.Args[i], made.Args[k] = made.Args[k], made.Args[i]
	}
	return made
}

// number returns a number that the environment says, or the usual one.
func number(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// No goal that is made of bombs kills the process, breaks the state machine, or makes copies differ. CONCH_BOMBS says how many are tried, and CONCH_STEPS how
// many steps each may take; what they take is measured then.
func TestMutatedBombs(t *testing.T) {
	t.Parallel()
	tries, seed, usual := number("CONCH_BOMBS", 0), uint64(number("CONCH_SEED", 52)), number("CONCH_STEPS", steps)
	measures := tries > 0
	if !measures {
		tries = runtest.ByDay(200, 2000)
	}
	dice := rand.New(rand.NewPCG(seed, 0))
	mutants := newMutants(t)
	s, other := loaded(t, ground), loaded(t, ground)
	kinds := map[string]int{}
	var w worst
	for i := range tries {
		goal := mutants.goal(dice)
		var o txlog.Outcome
		if measures {
			o = w.measured(s, goal, usual)
		} else {
			o = txlog.RunWithin(s, []byte(goal), usual)
		}
		kind, _, _ := strings.Cut(o.Fault, ":")
		kinds[kind]++
		if strings.Contains(o.Fault, "is broken") {
			t.Fatalf("CONCH_SEED=%d, goal %d: %s\n%s", seed, i, goal, o.Fault)
		}
		for _, each := range []*State{s, other} {
			if err := each.Apply(o.Diff); err != nil {
				t.Fatalf("CONCH_SEED=%d, goal %d: %s\n%v", seed, i, goal, err)
			}
		}
		if s.Hash() != other.Hash() {
			t.Fatalf("CONCH_SEED=%d, goal %d: %s\nthe copies differ", seed, i, goal)
		}
		if i%50 == 49 { // and goes on from a snapshot
			snapshot := s.Snapshot()
			if err := other.Restore(snapshot); err != nil || !bytes.Equal(other.Snapshot(), snapshot) || other.Hash() != s.Hash() {
				t.Fatalf("CONCH_SEED=%d, goal %d: a snapshot is another ontology: %v", seed, i, err)
			}
		}
		if i%200 == 199 {
			s, other = loaded(t, ground), loaded(t, ground)
		}
	}
	if bad := kinds["bad goal"]; bad > tries/4 {
		t.Errorf("%d of %d goals are none, and show little: %v", bad, tries, kinds)
	}
	t.Logf("%d goals of seed %d: %v; the slowest took %v: %q; the largest %d MiB: %q", tries, seed, kinds, w.cpu, w.goal[0], w.memory>>20, w.goal[1])
}
