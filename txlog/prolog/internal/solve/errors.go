package solve

import (
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// isoError returns a ball of the standard.
func isoError(formal term.Term) *Ball {
	e := &term.Compound{Name: term.ErrorTag, Args: []term.Term{formal, term.Nil}}
	return &Ball{e, e}
}

// within says in an error which predicate it is of.
func within(err error, n ontology.Name) error {
	if ball, is := err.(*Ball); is && ball.error != nil { //nolint:errorlint // nothing wraps it
		ball.error.Args[1] = indicator(n)
		ball.error = nil
	}
	return err
}

func indicator(n ontology.Name) term.Term {
	return &term.Compound{Name: term.Slash, Args: []term.Term{n.Atom, term.Int(n.Arity)}}
}

func instantiation() error { return isoError(term.New("instantiation_error")) }

func typeError(kind string, culprit term.Term) error {
	return isoError(term.New("type_error", term.NewAtom(kind), culprit))
}

func domainError(kind string, culprit term.Term) error {
	return isoError(term.New("domain_error", term.NewAtom(kind), culprit))
}

func existence(kind string, culprit term.Term) error {
	b := isoError(term.New("existence_error", term.NewAtom(kind), culprit))
	b.error.Args[1], b.error = culprit, nil
	return b
}

func permission(action, kind string, culprit term.Term) error {
	return isoError(term.New("permission_error", term.NewAtom(action), term.NewAtom(kind), culprit))
}

func representation(kind string) error {
	return isoError(term.New("representation_error", term.NewAtom(kind)))
}

func evaluation(kind string) error { return isoError(term.New("evaluation_error", term.NewAtom(kind))) }

func resource(kind string) error { return isoError(term.New("resource_error", term.NewAtom(kind))) }

func syntaxError(why string) error { return isoError(term.New("syntax_error", term.NewAtom(why))) }
