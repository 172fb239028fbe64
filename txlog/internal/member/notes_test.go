package member

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/txlog"
)

// notes is a state of numbers with names. Its goals are texts:
//
//	add NAME N    adds to a number; the result is what it is then
//	copy A B      makes B what A is: it reads what is not in its diff
//	get A         changes nothing
//	ring TEXT     has an effect
//	fail          fails
//	lie           makes a diff that does not fit
//	loop          never ends
type notes struct {
	values map[string]int
	tree   txlog.Tree
	wrong  int // is added to what goals read of this state: its memory is wrong
}

func newNotes() txlog.State { return &notes{values: map[string]int{}} }

func (n *notes) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	words := strings.Fields(string(goal))
	if len(words) == 0 {
		return txlog.Failed("no words")
	}
	write := func(name string, value int) txlog.Outcome {
		return txlog.Outcome{Result: []byte(strconv.Itoa(value)), Diff: fmt.Appendf(nil, "%s %d %d", name, n.values[name]+n.wrong, value)}
	}
	switch {
	case words[0] == "add" && len(words) == 3:
		by, err := strconv.Atoi(words[2])
		if err != nil {
			return txlog.Failed("no number")
		}
		return write(words[1], n.values[words[1]]+by)
	case words[0] == "copy" && len(words) == 3:
		return write(words[2], n.values[words[1]])
	case words[0] == "get" && len(words) == 2:
		return txlog.Outcome{Result: []byte(strconv.Itoa(n.values[words[1]]))}
	case words[0] == "ring":
		return txlog.Outcome{Effects: []txlog.Effect{{Kind: "bell", Body: []byte(strings.Join(words[1:], " "))}}}
	case words[0] == "loop":
		for {
			budget.Spend(1)
		}
	case words[0] == "lie":
		return txlog.Outcome{Diff: []byte("x 77 78")}
	}
	return txlog.Failed("it cannot be done")
}

func (n *notes) Apply(diff []byte) error {
	if len(diff) == 0 {
		return nil
	}
	var name string
	var before, after int
	if _, err := fmt.Sscanf(string(diff), "%s %d %d", &name, &before, &after); err != nil {
		return errors.Join(txlog.ErrMalformed, err)
	}
	if n.values[name] != before {
		return fmt.Errorf("%w: %s is %d, and the diff says %d", txlog.ErrDiff, name, n.values[name], before)
	}
	n.put(name, after)
	return nil
}

func (n *notes) put(name string, value int) {
	item := func() []byte { return fmt.Appendf(nil, "%s=%d", name, n.values[name]) }
	if n.values[name] != 0 {
		n.tree.Remove(item())
	}
	if n.values[name] = value; value == 0 {
		delete(n.values, name)
		return
	}
	n.tree.Add(item())
}

func (n *notes) View() txlog.View { return &notes{values: maps.Clone(n.values)} }

func (n *notes) Query(query []byte, _ *txlog.Budget) ([]byte, error) {
	if len(query) == 0 {
		return nil, errors.New("a query names a number")
	}
	return []byte(strconv.Itoa(n.values[string(query)])), nil
}

func (n *notes) Hash() txlog.Hash { return n.tree.Hash() }

func (n *notes) Snapshot() []byte {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(n.values)) {
		b = fmt.Appendf(b, "%s=%d\n", name, n.values[name])
	}
	return b
}

func (n *notes) Restore(snapshot []byte) error {
	*n = notes{values: map[string]int{}}
	for line := range strings.Lines(string(snapshot)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		v, err := strconv.Atoi(value)
		if err != nil {
			return errors.Join(txlog.ErrMalformed, err)
		}
		n.put(name, v)
	}
	return nil
}

// flip is a memory that has lost a value, unnoticed.
func (n *notes) flip(name string) { n.values[name] += 1000 }
