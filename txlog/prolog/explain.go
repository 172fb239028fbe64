package prolog

import (
	"strings"

	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// Explain returns what a diff changes, one line a change, as a person reads it: "+ at(a,1)." is a clause that has come, "- at(a,1)." one that is gone, and a
// clause that has become another is both. The error is ErrMalformed.
func Explain(diff []byte) (lines []string, err error) {
	changes, err := rules.Changes(diff)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		k := ontology.ReadKey([]byte(c.Key))
		for _, side := range []struct{ sign, value string }{{"- ", c.Before}, {"+ ", c.After}} {
			if side.value == "" {
				continue
			}
			text := k.Text(side.value)
			if k.IsClause() {
				code, is := term.Decode(side.value)
				if !is {
					return nil, malformed("a clause cannot be read")
				}
				if text, err = clauseText(nil, (*syntax.Ops)(nil), k.Name, code); err != nil {
					return nil, err
				}
				text = strings.ReplaceAll(text, "\n   ", "")
			}
			lines = append(lines, side.sign+text)
		}
	}
	return lines, nil
}
