package committee

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// tokens is a domain for the world: a state is an amount in a purse, which any member may spend. An intent has a name,
// so that no two are alike: "7 give red 5", "8 move red blue 3", "9 look red", "10 turn red", "11 odd red", "12
// never", "13 fails".
type tokens struct{}

var (
	errFails = errors.New("it fails each time")
	errWrong = fmt.Errorf("%w: it breaks the rules", domain.ErrNever)
)

// Prepare implements domain.Rules.
func (tokens) Prepare(request []byte) ([]byte, error) { return request, nil }

// Label implements domain.Rules.
func (tokens) Label(state []byte) string {
	purse, _, _ := strings.Cut(string(state), " ")
	return purse
}

// Assemble implements domain.Rules.
func (tokens) Assemble(call domain.Call, view domain.View) (d domain.Draft, err error) {
	words := strings.Fields(string(call.Payload))
	switch words[1] {
	case "give":
		return domain.Draft{Outputs: [][]byte{[]byte(words[2] + " " + words[3])}}, nil
	case "move":
		want, _ := strconv.ParseUint(words[4], 10, 64)
		var have uint64
		for s := range view.Labelled(words[2], seedOf(call.Intent)) {
			if have >= want {
				break
			}
			d.Inputs = append(d.Inputs, s.ID)
			have += valueOf(s.Data)
		}
		if have < want {
			return domain.Draft{}, domain.ErrConflict
		}
		d.Outputs = [][]byte{fmt.Appendf(nil, "%s %d", words[3], want)}
		if have > want {
			d.Outputs = append(d.Outputs, fmt.Appendf(nil, "%s %d", words[2], have-want))
		}
		return d, nil
	case "look": // at the first states of a purse, which nobody may have spent
		for s := range view.Labelled(words[2], seedOf(call.Intent)) {
			if d.Reads = append(d.Reads, s.ID); len(d.Reads) == 2 {
				break
			}
		}
		if len(d.Reads) == 0 {
			return d, domain.ErrConflict
		}
		d.Outputs = [][]byte{[]byte(words[2] + " 0")}
		return d, nil
	case "turn": // the one state of a purse becomes another
		for s := range view.Labelled(words[2], 0) {
			return domain.Draft{Inputs: []ledger.StateID{s.ID}, Outputs: [][]byte{s.Data}}, nil
		}
		return d, domain.ErrConflict
	case "odd": // members refuse it
		return domain.Draft{Outputs: [][]byte{[]byte(words[2] + " 0")}}, nil
	case "fails":
		return d, errFails
	}
	return d, domain.ErrNever
}

// Endorse implements domain.Rules.
func (tokens) Endorse(p domain.Proposal) error {
	words := strings.Fields(string(p.Payload))
	var in, out uint64
	for _, s := range p.Inputs {
		in += valueOf(s.Data)
	}
	for _, o := range p.Outputs {
		out += valueOf(o)
	}
	if words[1] == "odd" {
		return errWrong
	}
	if words[1] == "give" {
		given, _ := strconv.ParseUint(words[3], 10, 64)
		if len(p.Inputs) > 0 || out != given {
			return errWrong
		}
		return nil
	}
	if words[1] == "look" {
		if len(p.Reads) == 0 || in+out > 0 {
			return errWrong
		}
		return nil
	}
	if in != out || in == 0 {
		return errWrong
	}
	return nil
}

func seedOf(in ledger.Intent) uint64 { return in.Sequence.Counter * 0x9e3779b97f4a7c15 }

func valueOf(data []byte) uint64 {
	_, amount, _ := strings.Cut(string(data), " ")
	n, _ := strconv.ParseUint(amount, 10, 64)
	return n
}
