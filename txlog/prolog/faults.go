package prolog

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/solve"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// fault is why a goal has failed: its kind comes first, so that a program can tell.
type fault struct{ kind, text string }

func (f fault) Error() string { return f.kind + ": " + f.text }

// The kinds of faults.
const (
	badGoal  = "bad goal"
	unsolved = "no"
	thrown   = "error"
	tooMuch  = "limit"
)

func bad(text string) error   { return fault{badGoal, text} }
func limit(text string) error { return fault{tooMuch, text} }

var errNo = fault{unsolved, "the goal has no solution"}

// failure says why a goal has failed.
func failure(b *txlog.Budget, ops *syntax.Ops, err error) error {
	ball, is := errors.AsType[*solve.Ball](err)
	if !is {
		return err
	}
	return fault{thrown, describe(b, ops, ball.Term)}
}

// describe returns the text of what was thrown: of an error of the standard, what it is and where.
func describe(b *txlog.Budget, ops *syntax.Ops, ball term.Term) string {
	c, is := ball.(*term.Compound)
	if is && c.Name == term.ErrorTag && len(c.Args) == 2 {
		what := shown(b, ops, c.Args[0], mostShown)
		if where := term.Deref(b, c.Args[1]); where != term.Nil {
			if _, free := where.(*term.Var); !free {
				return what + " in " + shown(b, ops, where, mostShown/4)
			}
		}
		return what
	}
	return shown(b, ops, ball, mostShown)
}

// shown returns the text of a term, or says that it is too long.
func shown(b *txlog.Budget, ops *syntax.Ops, t term.Term, most int) string {
	w := syntax.NewWriter(b, ops, syntax.Style{Quoted: true, NumberVars: true, Most: most}, letters())
	if w.Argument(t) != nil {
		return "a term of more than " + strconv.Itoa(most) + " bytes"
	}
	return w.Text()
}

// letters names variables _A, _B and so on as they come.
func letters() func(term.Term) string {
	var names map[*term.Var]string // most terms have no variable
	return func(t term.Term) string {
		v, is := t.(*term.Var)
		if !is {
			return "_"
		}
		if names == nil {
			names = map[*term.Var]string{}
		}
		if names[v] == "" {
			names[v] = "_" + syntax.VarName(len(names))
		}
		return names[v]
	}
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{txlog.ErrMalformed}, args...)...)
}
