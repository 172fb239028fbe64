package config

import (
	"errors"
	"strings"
)

// Command accepts a list, or a line that it splits.
func (d *Decoder) Command(to *[]string) Setter {
	return func(place string, value any) {
		line, ok := value.(string)
		if !ok {
			d.Texts(to)(place, value)
			return
		}
		list, err := words(line)
		if err != nil {
			d.Fault(place, "%v", err)
		}
		*to = append([]string{}, list...) // not nil: an empty command is a fault, not a missing one
	}
}

// errShell is the fault of a command line that needs a shell.
var errShell = errors.New(`conch starts no shell: write an array, ["sh", "-c", "…"], if one is meant`)

// words splits a command line at blanks, like a shell without expansions: '…' keeps
// everything, "…" and \ keep blanks.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	begun, quote := false, rune(0)
	text := []rune(line)
	for i := 0; i < len(text); i++ {
		switch r := text[i]; {
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				out = append(out, word.String())
				word.Reset()
				begun = false
			}
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			i++
			if i == len(text) {
				return nil, errors.New(`it ends with a lone \`)
			}
			// Inside "…" a backslash escapes only these.
			if quote == '"' && !strings.ContainsRune("\"\\$`", text[i]) {
				word.WriteRune('\\')
			}
			word.WriteRune(text[i])
			begun = true
		case quote == 0 && strings.ContainsRune("|&;<>()$`", r), quote == '"' && (r == '$' || r == '`'):
			return nil, errShell
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quotation mark is not closed")
	}
	if begun {
		out = append(out, word.String())
	}
	return out, nil
}
