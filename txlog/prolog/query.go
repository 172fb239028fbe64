package prolog

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/solve"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

const queries = `{"goal":TEXT} with "limit" and "offset", or {"listing":NAME} or {"listing":"NAME/ARITY"}`

// question is a query as it comes.
type question struct {
	Goal    *string `json:"goal"`
	Limit   *int    `json:"limit"`
	Offset  int     `json:"offset"`
	Listing *string `json:"listing"`
}

// Solutions answers {"goal":TEXT}. Each solution has the texts of the values by the names of the variables. If there may be more ("more"), the same query with a larger
// "offset" goes on.
type Solutions struct {
	Solutions []json.RawMessage `json:"solutions"`
	More      bool              `json:"more"`             // there may be more
	Output    string            `json:"output,omitempty"` // what was written on the way
}

// Listing answers {"listing":NAME}.
type Listing struct {
	Text string `json:"text"` // clauses
}

// view is what an ontology was at one time. It never changes.
type view struct{ of *ontology.Base }

// Query answers a question: see the package. The error is of a question that is none, or whose goal throws.
func (v view) Query(query []byte, budget *txlog.Budget) ([]byte, error) {
	budget.Spend(len(query) / 4)
	var q question
	from := json.NewDecoder(bytes.NewReader(query))
	from.DisallowUnknownFields()
	if !utf8.Valid(query) || from.Decode(&q) != nil || from.More() || (q.Goal == nil) == (q.Listing == nil) {
		return nil, malformed("a query is an object of JSON: %s", queries)
	}
	d := ontology.NewDraft(budget, v.of)
	if q.Listing != nil {
		if q.Limit != nil || q.Offset != 0 {
			return nil, malformed("a listing has no limit: a query is %s", queries)
		}
		return listing(budget, d, *q.Listing)
	}
	limit := usualLimit
	if q.Limit != nil {
		limit = *q.Limit
	}
	if limit < 1 || limit > mostSolutions || q.Offset < 0 || q.Offset > mostOffset {
		return nil, malformed(`"limit" is a number from 1 to %d, and "offset" one from 0 to %d`, mostSolutions, mostOffset)
	}
	m := solve.New(budget, d, true)
	return solutions(m, *q.Goal, limit, q.Offset)
}

// solutions solves a goal as often as is asked for.
func solutions(m *solve.Machine, text string, limit, offset int) ([]byte, error) {
	t, vars, err := read(m, text)
	if err != nil {
		return nil, malformed("%v", err)
	}
	out := Solutions{Solutions: []json.RawMessage{}}
	size := 0
	is, err := m.Solve(t)
	for n := 0; is && err == nil; n++ {
		if n >= offset {
			bindings, err := appendBindings(nil, m, vars, mostAnswer/4)
			if err != nil {
				return nil, malformed("%v", err)
			}
			size += len(bindings)
			out.Solutions = append(out.Solutions, bindings)
			if len(out.Solutions) == limit || size > mostAnswer/2 {
				out.More = !m.Final() // to look for another one may take for ever
				break
			}
		}
		is, err = m.Again()
	}
	if err != nil {
		return nil, malformed("%v", readOnly(failure(m.Budget, m.Draft.Ops(), err)))
	}
	out.Output = m.Output.String()
	return answer(out)
}

// readOnly says what to do about a goal that would change something.
func readOnly(err error) error {
	if f, is := err.(fault); is && strings.HasPrefix(f.text, "permission_error(modify,query") { //nolint:errorlint // nothing wraps it
		f.text += ": a query changes nothing, submit it as a goal"
		return f
	}
	return err
}

// answer writes an answer as it was typed: < is no danger here.
func answer(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, malformed("an answer cannot be written: %v", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// listing writes the clauses of some predicates, or of all.
func listing(b *txlog.Budget, d *ontology.Draft, of string) ([]byte, error) {
	name, arity, some := strings.Cut(of, "/")
	want := -1
	if some {
		n, err := strconv.Atoi(arity)
		if err != nil || n < 0 {
			return nil, malformed("a listing is of NAME or NAME/ARITY")
		}
		want = n
	}
	l := lister{b: b, ops: d.Ops()}
	found := false
	for _, n := range d.Names() {
		if of != "" && n.Atom != term.NewAtom(name) || want >= 0 && n.Arity != want {
			continue
		}
		found = true
		if err := l.pred(n, d.Pred(n)); err != nil {
			return nil, err
		}
	}
	if !found && of != "" {
		return nil, malformed("there is no predicate %s", of)
	}
	return answer(Listing{l.out.String()})
}
