package txlog

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// toy is a state machine for tests: names with texts. The goal "name=text" sets one, and has the text before as its result;
// "mail text" has an effect, "fail why" fails, "huge" changes too much, "break" panics, "loop" never ends, and "deaf" does
// not hear that it has to.
type toy struct {
	texts map[string]string
	tree  Tree
}

func newToy() State { return &toy{texts: map[string]string{}} }

func item(name, text string) []byte { return []byte(name + "\x00" + text) }

func (s *toy) Execute(goal []byte, budget *Budget) Outcome {
	word, rest, _ := strings.Cut(string(goal), " ")
	name, text, sets := strings.Cut(string(goal), "=")
	switch {
	case word == "fail":
		return Failed(rest)
	case word == "break":
		panic("on purpose")
	case word == "loop":
		for {
			budget.Spend(1)
		}
	case word == "deaf":
		func() {
			defer func() { _ = recover() }()
			budget.Spend(limits.MostSteps + 1)
		}()
		return Outcome{Result: []byte("done"), Diff: []byte("x\x00\x00done")}
	case word == "huge":
		return Outcome{Diff: make([]byte, limits.MostDiff+1), Effects: []Effect{{Kind: "mail"}}}
	case word == "mail":
		return Outcome{Effects: []Effect{{Kind: "mail", Body: []byte(rest)}}}
	case !sets:
		return Failed("it is no goal")
	}
	before := s.texts[name]
	return Outcome{Result: []byte(before), Diff: []byte(strings.Join([]string{name, before, text}, "\x00"))}
}

func (s *toy) Apply(diff []byte) error {
	if len(diff) == 0 {
		return nil
	}
	part := strings.Split(string(diff), "\x00")
	if len(part) != 3 {
		return fault(ErrMalformed, "no diff")
	}
	before, is := s.texts[part[0]]
	if before != part[1] {
		return fault(ErrDiff, "%s is %q", part[0], before)
	}
	if is {
		s.tree.Remove(item(part[0], before))
	}
	s.texts[part[0]] = part[2]
	s.tree.Add(item(part[0], part[2]))
	return nil
}

func (s *toy) View() View { return &toy{texts: maps.Clone(s.texts)} }

func (s *toy) Query(query []byte, budget *Budget) ([]byte, error) {
	switch string(query) {
	case "break":
		panic("on purpose")
	case "loop":
		for {
			budget.Spend(1)
		}
	case "deaf":
		func() {
			defer func() { _ = recover() }()
			budget.Spend(limits.MostSteps + 1)
		}()
	}
	return []byte(s.texts[string(query)]), nil
}

func (s *toy) Hash() Hash { return s.tree.Hash() }

func (s *toy) Snapshot() []byte {
	var out [][]byte
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		out = append(out, item(name, s.texts[name]))
	}
	return bytes.Join(out, []byte{1})
}

func (s *toy) Restore(snapshot []byte) error {
	s.texts, s.tree = map[string]string{}, Tree{}
	for part := range bytes.SplitSeq(snapshot, []byte{1}) {
		if len(snapshot) == 0 {
			break
		}
		name, text, is := strings.Cut(string(part), "\x00")
		if !is {
			return fault(ErrMalformed, "no text")
		}
		s.texts[name] = text
		s.tree.Add(item(name, text))
	}
	return nil
}
