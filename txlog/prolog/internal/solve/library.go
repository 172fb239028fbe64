package solve

import (
	_ "embed"
	"sync"

	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
)

//go:embed library.pl
var libraryText string

// library returns the predicates in Prolog that every ontology has. It is read once.
var library = sync.OnceValue(func() map[ontology.Name]*ontology.Pred {
	m := New(nil, ontology.NewDraft(nil, &ontology.Base{}), false)
	r := syntax.NewReader(nil, libraryText, nil, syntax.Codes, m.NewVar)
	for {
		t, _, err := r.Read(false)
		if err == nil && t != nil {
			err = m.Add(t, false)
		}
		if err != nil {
			panic("the library of Prolog is broken: " + err.Error()) //nolint:forbidigo // it is a part of the program, and a test reads it
		}
		if t == nil {
			break
		}
	}
	all := map[ontology.Name]*ontology.Pred{}
	for _, n := range m.Draft.Names() {
		all[n] = m.Draft.Pred(n)
	}
	return all
})
