package sender

import (
	"errors"
	"iter"
	"strings"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// tokens are rules for tests. A state is a word. "make x" creates x, "move x y" spends an x and creates y, "read x y"
// needs an x and creates y, "burn x" spends an x and creates nothing. "never", "fail" and "panic" are what they say.
type tokens struct{}

func (tokens) Prepare(request []byte) ([]byte, error) { return request, nil }

func (tokens) Label(state []byte) string { return string(state) }

func (tokens) Assemble(call domain.Call, view domain.View) (d domain.Draft, err error) {
	words := strings.Fields(string(call.Payload))
	switch words[0] {
	case "make":
		return domain.Draft{Outputs: [][]byte{[]byte(words[1])}}, nil
	case "never":
		return d, domain.ErrNever
	case "fail":
		return d, errors.New("out of order")
	case "panic":
		panic("out of its mind")
	}
	s, is := first(view.Labelled(words[1], call.Sequence.Counter))
	if !is {
		return d, domain.ErrConflict
	}
	if d.Inputs = []ledger.StateID{s.ID}; words[0] == "burn" {
		return d, nil
	}
	d.Outputs = [][]byte{[]byte(words[2])}
	if words[0] == "read" {
		d.Inputs, d.Reads = nil, d.Inputs
	}
	return d, nil
}

func first(all iter.Seq[domain.State]) (domain.State, bool) {
	for s := range all {
		return s, true
	}
	return domain.State{}, false
}

func (tokens) Endorse(domain.Proposal) error { return nil }
