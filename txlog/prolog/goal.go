package prolog

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/keyed"
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/solve"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// asked is a goal: the text of one, or a file.
type asked struct {
	Goal    *string `json:"goal"`
	Consult *string `json:"consult"`
	Reverse bool    `json:"reverse"`
}

// parseGoal reads a goal, which is a text or JSON.
func parseGoal(goal []byte) (a asked, err error) {
	if !utf8.Valid(goal) {
		return a, bad("it is no text in UTF-8")
	}
	text := bytes.TrimSpace(goal)
	switch {
	case len(text) == 0:
		return a, bad("it is empty")
	case text[0] == '"':
		a.Goal = new(string)
		if json.Unmarshal(text, a.Goal) != nil {
			return a, bad(`it is no text of JSON, such as "move(X, 3)"`)
		}
	case text[0] == '{':
		if a, err = parseObject(text); err != nil {
			return a, err
		}
	default:
		a.Goal = new(string(goal))
	}
	if s := a.Goal; s != nil && strings.TrimSpace(*s) == "" {
		return a, bad("it is empty")
	}
	return a, nil
}

func parseObject(text []byte) (a asked, err error) {
	from := json.NewDecoder(bytes.NewReader(text))
	from.DisallowUnknownFields()
	if from.Decode(&a) != nil || from.More() || (a.Goal == nil) == (a.Consult == nil) || a.Reverse && a.Consult == nil {
		return a, bad(`an object has "goal", or "consult" and perhaps "reverse"`)
	}
	return a, nil
}

// Execute solves a goal on a draft, and keeps what it would change for itself.
func (s *State) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	budget.Spend(len(goal) / 4)
	a, err := parseGoal(goal)
	if err != nil {
		return txlog.Failed(err.Error())
	}
	d := ontology.NewDraft(budget, s.base)
	m := solve.New(budget, d, false)
	var result []byte
	if a.Consult != nil {
		result, err = consult(m, *a.Consult, a.Reverse)
	} else {
		result, err = first(m, *a.Goal)
	}
	if err != nil {
		return txlog.Failed(failure(budget, d.Ops(), err).Error())
	}
	diff, err := s.Diff(d.Changes())
	if tooLarge, is := errors.AsType[keyed.LimitError](err); is {
		return txlog.Failed(limit(tooLarge.Error()).Error())
	}
	o := txlog.Outcome{Result: result, Diff: diff}
	for _, e := range m.Effects {
		o.Effects = append(o.Effects, txlog.Effect{Kind: e.Kind, Body: []byte(e.Body)})
	}
	return o
}

// read reads a goal of one term.
func read(m *solve.Machine, text string) (term.Term, []syntax.NamedVar, error) {
	r := syntax.NewReader(m.Budget, text, m.Draft.Ops(), m.Quotes(), m.NewVar)
	t, vars, err := r.Read(true)
	if err == nil && t == nil {
		return nil, nil, bad("it is empty")
	}
	if err != nil {
		return nil, nil, bad(err.Error())
	}
	if again, _, err := r.Read(true); err != nil || again != nil {
		return nil, nil, bad(r.At("a goal is one term: nothing follows its full stop").Error())
	}
	return t, vars, nil
}

// first solves a goal once, and returns the result.
func first(m *solve.Machine, text string) ([]byte, error) {
	t, vars, err := read(m, text)
	if err != nil {
		return nil, err
	}
	is, err := m.Solve(t)
	if err != nil {
		return nil, err
	}
	if !is {
		return nil, errNo
	}
	out, err := appendBindings([]byte(`{"bindings":`), m, vars, mostResult)
	if err != nil {
		return nil, err
	}
	if said := m.Output.String(); said != "" {
		m.Budget.Spend(len(said) / 8)
		out = appendQuoted(append(out, `,"output":`...), said)
	}
	if out = append(out, '}'); len(out) > mostResult {
		return nil, limit("the answer has " + strconv.Itoa(len(out)) + " bytes, of " + strconv.Itoa(mostResult) + " at most: " + longest(m, vars))
	}
	return out, nil
}

// longest says what to leave out of an answer.
func longest(m *solve.Machine, vars []syntax.NamedVar) string {
	name, most := "", 0
	for _, v := range vars {
		if strings.HasPrefix(v.Name, "_") {
			continue
		}
		w := syntax.NewWriter(m.Budget, m.Draft.Ops(), syntax.Style{Quoted: true, Most: mostResult}, letters())
		size := mostResult + 1
		if w.Argument(v.Var) == nil {
			size = len(w.Text())
		}
		if size > most {
			name, most = v.Name, size
		}
	}
	if name == "" {
		return "write less"
	}
	return "a variable whose name begins with _ is left out, so say _" + name + " instead of " + name
}

// appendBindings writes the values of a goal's variables as JSON, in the order of the text.
func appendBindings(out []byte, m *solve.Machine, vars []syntax.NamedVar, most int) ([]byte, error) {
	begin := len(out)
	out = append(slices.Grow(out, 64), '{')
	w := syntax.NewWriter(m.Budget, m.Draft.Ops(), syntax.Style{Quoted: true, Most: most}, letters())
	for _, v := range vars {
		if strings.HasPrefix(v.Name, "_") {
			continue
		}
		w.Reset()
		switch err := w.Argument(v.Var); {
		case errors.Is(err, syntax.ErrDeep):
			return nil, limit("the value of " + v.Name + " is too deep to be printed: say _" + v.Name + " instead of " + v.Name)
		case err != nil:
			return nil, limit("the value of " + v.Name + " has more than " + strconv.Itoa(most) + " bytes: " + longest(m, vars))
		}
		if len(out) > begin+1 {
			out = append(out, ',')
		}
		m.Budget.Spend(len(w.Text()) / 8)
		out = appendQuoted(append(appendQuoted(out, v.Name), ':'), w.Text())
		if len(out)-begin > most+most/2 {
			return nil, limit("the answer has more than " + strconv.Itoa(most) + " bytes: " + longest(m, vars))
		}
	}
	return append(out, '}'), nil
}

// appendQuoted writes a text as JSON, as it is typed: < is no danger here.
func appendQuoted(out []byte, s string) []byte {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) < 0 {
		return append(append(append(out, '"'), s...), '"')
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) //nolint:errchkjson // a text always can be
	return append(out, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}
