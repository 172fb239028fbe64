package prolog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// lister writes clauses as a person writes them.
type lister struct {
	b   *txlog.Budget
	ops *syntax.Ops
	out strings.Builder
}

// pred writes a predicate.
func (l *lister) pred(n ontology.Name, p *ontology.Pred) error {
	if p.Count() == 0 {
		l.out.WriteString(":- dynamic " + syntax.Quote(n.Atom.Name()) + "/" + strconv.Itoa(n.Arity) + ".\n")
	}
	for c := range p.All {
		l.b.Spend(1)
		text, err := clauseText(l.b, l.ops, n, c.Code(l.b))
		if err != nil {
			return err
		}
		if l.out.Len()+len(text) > mostAnswer {
			return malformed("the listing has more than %d bytes: ask for one predicate, or for a goal with limit and offset", mostAnswer)
		}
		l.out.WriteString(text + "\n")
	}
	return nil
}

// slotNames names the variables of a clause: those that occur once are _.
func slotNames(b *txlog.Budget, code *term.Clause) func(term.Term) string {
	times := make([]int, code.Vars)
	for rest := append(slices.Clone(code.Args), code.Body); len(rest) > 0; {
		b.Spend(1)
		t := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		switch t := t.(type) {
		case term.Slot:
			times[t]++
		case *term.Compound:
			if t.Open {
				rest = append(rest, t.Args...)
			}
		}
	}
	return func(t term.Term) string {
		slot, is := t.(term.Slot)
		if !is || times[slot] < 2 {
			return "_"
		}
		return syntax.VarName(int(slot))
	}
}

// clauseText returns a clause with its full stop.
func clauseText(b *txlog.Budget, ops *syntax.Ops, n ontology.Name, code *term.Clause) (string, error) {
	head := term.Term(n.Atom)
	if len(code.Args) > 0 {
		head = &term.Compound{Name: n.Atom, Args: code.Args, Open: true}
	}
	name := slotNames(b, code)
	write := func(t term.Term, priority int) (string, error) {
		w := syntax.NewWriter(b, ops, syntax.Style{Quoted: true, NumberVars: false, Most: mostAnswer}, name)
		if err := w.Write(t, priority); err != nil {
			return "", fmt.Errorf("%w: %w", txlog.ErrSize, err)
		}
		return w.Text(), nil
	}
	text, err := write(head, 1199)
	if err != nil {
		return "", err
	}
	if code.Body != nil {
		for i, goal := range conjuncts(b, code.Body) {
			line, err := write(goal, 999)
			if err != nil {
				return "", err
			}
			if i == 0 {
				text += " :-"
			} else {
				text += ","
			}
			text += "\n    " + line
		}
	}
	if last := text[len(text)-1]; strings.IndexByte(`+-*/\^<>=~:.?@#&$`, last) >= 0 {
		text += " "
	}
	return text + ".", nil
}

func conjuncts(b *txlog.Budget, body term.Term) (all []term.Term) {
	for {
		b.Spend(1)
		c, is := body.(*term.Compound)
		if !is || c.Name != term.Comma || len(c.Args) != 2 {
			return append(all, body)
		}
		all = append(all, c.Args[0])
		body = c.Args[1]
	}
}
