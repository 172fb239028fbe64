package prolog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
// runs others, and prints a table of what differs.
func TestConformity(t *testing.T) {
	t.Parallel()
	dir, own := os.Getenv("CONCH_CONFORMITY"), false
	if dir == "" {
		dir, own = filepath.Join("testdata", "conformity"), true
	}
	var table strings.Builder
	cases, differ := 0, 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "README") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "\n[") {
			return err
		}
		n, rows := conform(string(text))
		cases += n
		differ += len(rows)
		name, _ := filepath.Rel(dir, path)
		for _, row := range rows {
			fmt.Fprintf(&table, "%-28s %s\n", name, row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cases, %d differ\n%s", cases, differ, table.String())
	if own && (differ > 0 || cases < 100) {
		t.Errorf("%d of %d cases differ\n%s", differ, cases, table.String())
	}
}

// conform runs the cases of a file one after another, and returns what differs.
func conform(text string) (cases int, rows []string) {
	budget := txlog.NewBudget(1 << 40)
	d := ontology.NewDraft(budget, &ontology.Base{})
	ops := (*syntax.Ops)(nil).With(syntax.OpKey{Name: term.NewAtom("<--"), Class: syntax.Infix}, syntax.Op{Priority: 20, Type: "xfx"})
	ids := int64(-1 << 40)
	r := syntax.NewReader(budget, text, ops, syntax.Codes, func() *term.Var { ids++; return &term.Var{ID: ids} }) // older than those of any goal
	for {
		t, _, err := r.Read(false)
		if err != nil {
			return cases, append(rows, "cannot be read: "+err.Error())
		}
		if t == nil {
			return cases, rows
		}
		parts, is := t.(*term.Compound)
		if is && parts.Name == term.Neck {
			continue
		}
		cases++
		rest, _ := parts.Args[1].(*term.Compound)
		goal, want := parts.Args[0], rest.Args[0]
		shown := shown(budget, ops, goal, 400)
		if got := outcome(d, goal, want); got != "" {
			rows = append(rows, fmt.Sprintf("%-60s want %s, got %s", shown, showTerm(ops, want), got))
		}
	}
}

func showTerm(ops *syntax.Ops, t term.Term) string { return shown(nil, ops, t, 400) }

// outcome solves a goal, and says what is other than wanted.
func outcome(d *ontology.Draft, goal, want term.Term) (differs string) {
	budget := txlog.NewBudget(limits.MostSteps)
	m := solve.New(budget, d, false)
	defer func() {
		if broken := recover(); broken != nil {
			differs = fmt.Sprint("a panic: ", broken)
		}
	}()
	d.Pay(budget)
	is, err := m.Solve(goal)
	if err != nil {
		ball, _ := errors.AsType[*solve.Ball](err)
		got := showTerm(nil, ball.Term)
		if c, is := ball.Term.(*term.Compound); is && c.Name == term.ErrorTag {
			got = showTerm(nil, c.Args[0])
		}
		if plain(got) == plain(showTerm(nil, want)) || plain("unexpected_ball("+got+")") == plain(showTerm(nil, want)) {
			return ""
		}
		return got
	}
	switch text := showTerm(nil, want); {
	case !is && text == "failure", is && text == "success":
		return ""
	case !is:
		return "failure"
	}
	return compared(m, want)
}

// compared compares the solutions with what is wanted: a list of lists of Var <-- value.
func compared(m *solve.Machine, want term.Term) string {
	b := m.Budget
	rest := want
	for {
		c, is := term.IsCons(term.Deref(b, rest))
		if !is {
			return "another solution"
		}
		var names, values []term.Term
		for one := term.Deref(b, c.Args[0]); ; {
			pair, is := term.IsCons(one)
			if !is {
				break
			}
			arrow, is := term.Deref(b, pair.Args[0]).(*term.Compound)
			if !is || len(arrow.Args) != 2 {
				return "success"
			}
			names, values = append(names, arrow.Args[0]), append(values, arrow.Args[1])
			one = term.Deref(b, pair.Args[1])
		}
		if x, y := showTerm(nil, term.List(names...)), showTerm(nil, term.List(values...)); x != y {
			return x
		}
		rest = term.Deref(b, c.Args[1])
		if rest == term.Nil && m.Final() {
			return ""
		}
		again, err := m.Again()
		switch {
		case err != nil:
			return showTerm(nil, err.(*solve.Ball).Term) //nolint:errorlint,forcetypeassert // no other error is there
		case !again && rest == term.Nil:
			return ""
		case !again:
			return "no other solution"
		}
	}
}

// plain leaves the names of variables out of a text.
func plain(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("(),[]| ", r) })
	for i, w := range words {
		if strings.HasPrefix(w, "_") {
			words[i] = "_"
		}
	}
	return strings.Join(words, " ")
}
