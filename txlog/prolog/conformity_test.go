package prolog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/solve"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// Goals mean what the standard says (B22). The cases of testdata/conformity are in the form of the suite of INRIA, which has no licence and is not here: a list of a goal and of what should come of it. That is
// success, failure, an error of the standard, or the solutions, each a list of Var <-- value.
//
//	CONCH_CONFORMITY=/path/to/inriasuite go test -run TestConformity -v ./txlog/prolog
//
// runs those of that suite, and prints a table of what differs: it fails if that is more than the faults of the suite that are known here.
func TestConformity(t *testing.T) {
	t.Parallel()
	s := suite{dir: os.Getenv("CONCH_CONFORMITY")}
	if s.own = s.dir == ""; s.own {
		s.dir = filepath.Join("testdata", "conformity")
	}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cases of %d files: %d differ, %d more are faults of the suite itself\n%s", s.cases, s.files, s.differ, s.faults, s.table.String())
	if s.differ > 0 || s.own && s.cases < 100 {
		t.Errorf("%d of %d cases differ\n%s", s.differ, s.cases, s.table.String())
	}
}

// suite is a folder of cases, and what has come of them.
type suite struct {
	dir                          string
	own                          bool // ours: solutions have an order
	files, cases, differ, faults int
	table                        strings.Builder
}

// others are what the driver of INRIA's suite leaves out of the standard's part: of another Prolog, of streams, or of the driver itself.
var others = []string{"extra", "io", "inria", "bugs", "README", "template", "halt", "file_manip", "functor-bis", "from_catch-and-throw"}

// driver is what the suite's driver defines, which some cases ask for.
const driver = "dog. run_tests(_). file(_). file(_, _). exists(_).\n"

// itself has the cases of INRIA's suite that no Prolog can take, or no newer one, and why.
var itself = map[string]string{
	"fail_if": "fail_if/1 is a predicate of another Prolog: the driver defines none, and neither does the standard",
	"arith/arith_multiply_divide: _A is 140/(3+11)": "the standard lets a division of integers be an integer where nothing is left over",
	"atom_codes: atom_codes(_A,[105,115,65536])":    "65536 is the code of a character since there are more than 16 bits of them",
	"number_codes: number_codes(_A,[49,50,65536])":  "65536 is the code of a character, which is none of a number",
}

func (s *suite) run() error {
	return filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(s.dir, path)
		switch {
		case err != nil:
			return err
		case !s.own && slices.Contains(others, name) && e.IsDir():
			return fs.SkipDir
		case e.IsDir(), !s.own && (slices.Contains(others, name) || filepath.Ext(name) != ""):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s.files++
		return s.file(name, string(text))
	})
}

// file runs the cases of a file one after another.
func (s *suite) file(name, text string) error {
	budget := txlog.NewBudget(1 << 40)
	d := ontology.NewDraft(budget, &ontology.Base{})
	ops := (*syntax.Ops)(nil).With(syntax.OpKey{Name: term.NewAtom("<--"), Class: syntax.Infix}, syntax.Op{Priority: 20, Type: "xfx"})
	ids := int64(-1 << 40)
	older := func() *term.Var { ids++; return &term.Var{ID: ids} } // than those of any goal
	if _, err := consult(solve.New(budget, d, false), driver, false); err != nil {
		return err
	}
	for r := syntax.NewReader(budget, text, ops, syntax.Codes, older); ; {
		r.Quotes = solve.New(budget, d, false).Quotes()
		t, _, err := r.Read(false)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if t == nil {
			return nil
		}
		parts, _ := t.(*term.Compound)
		if parts.Name == term.Neck {
			continue
		}
		s.cases++
		rest, _ := parts.Args[1].(*term.Compound)
		goal, want := parts.Args[0], rest.Args[0]
		c := expected{d: d, inOrder: s.own, want: want}
		text := shown(budget, ops, goal, 400)
		got := c.differs(goal)
		if got == "" {
			continue
		}
		why, fault := itself[name+": "+text]
		if all, is := itself[name]; is {
			why, fault = all, true
		}
		if fault {
			s.faults++
			why = ": " + why
		} else {
			s.differ++
		}
		fmt.Fprintf(&s.table, "%-14s %-50s wants %s, here %s%s\n", name, text, showTerm(ops, want), got, why)
	}
}

// expected is what should come of a goal.
type expected struct {
	d       *ontology.Draft
	want    term.Term
	inOrder bool // the solutions come in this order, and not in any
}

func showTerm(ops *syntax.Ops, t term.Term) string { return shown(nil, ops, t, 400) }

// differs solves a goal, and says what is other than wanted.
func (e *expected) differs(goal term.Term) (differs string) {
	budget := txlog.NewBudget(limits.MostSteps)
	m := solve.New(budget, e.d, false)
	defer func() {
		if broken := recover(); broken != nil {
			differs = fmt.Sprint("a panic: ", broken)
		}
	}()
	e.d.Pay(budget)
	is, err := m.Solve(goal)
	if err != nil {
		return e.thrown(err)
	}
	switch text := showTerm(nil, e.want); {
	case !is && text == "failure", is && text == "success":
		return ""
	case !is:
		return "failure"
	}
	return e.solutions(m)
}

// thrown says what of an error is other than wanted.
func (e *expected) thrown(err error) string {
	ball, _ := errors.AsType[*solve.Ball](err)
	got := term.New("unexpected_ball", ball.Term)
	if c, is := ball.Term.(*term.Compound); is && c.Name == term.ErrorTag {
		got = c.Args[0]
	}
	if is, err := solve.New(txlog.NewBudget(1<<20), e.d, false).Solve(term.New("=", got, e.want)); err == nil && is {
		return ""
	}
	return showTerm(nil, got)
}

// solutions compares the solutions with what is wanted: a list of lists of Var <-- value.
func (e *expected) solutions(m *solve.Machine) string {
	var left []term.Term
	for rest := e.want; ; {
		c, is := term.IsCons(term.Deref(m.Budget, rest))
		if !is {
			break
		}
		left = append(left, c.Args[0])
		rest = c.Args[1]
	}
	for {
		at := slices.IndexFunc(left, func(one term.Term) bool { return holds(m.Budget, one) })
		if at < 0 || e.inOrder && at > 0 {
			return "another solution"
		}
		if left = slices.Delete(left, at, at+1); len(left) == 0 && m.Final() {
			return ""
		}
		again, err := m.Again()
		switch {
		case err != nil:
			return e.thrown(err)
		case !again && len(left) == 0:
			return ""
		case !again:
			return "no other solution"
		}
	}
}

// holds reports whether the variables of a list of Var <-- value have these values.
func holds(b *txlog.Budget, list term.Term) bool {
	var names, values []term.Term
	for rest := term.Deref(b, list); ; {
		pair, is := term.IsCons(rest)
		if !is {
			return showTerm(nil, term.List(names...)) == showTerm(nil, term.List(values...))
		}
		arrow, is := term.Deref(b, pair.Args[0]).(*term.Compound)
		if !is || len(arrow.Args) != 2 {
			return false
		}
		names, values = append(names, arrow.Args[0]), append(values, arrow.Args[1])
		rest = term.Deref(b, pair.Args[1])
	}
}
