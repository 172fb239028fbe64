package logs

import (
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/prolog"
)

// machine is a state machine of a log: by the name that users write, and by the one that a genesis has, which is with its version.
type machine struct {
	name, full string
	make       func() txlog.State
	explain    func(diff []byte) ([]string, error) // says what a diff changes; nil: nobody can say
}

// machines are those of this version. The first one is that of a log of which nobody says anything else.
var machines = []machine{
	{name: "kv", full: kv.Machine, make: kv.New},
	{name: "prolog", full: prolog.Machine, make: prolog.New, explain: prolog.Explain},
}

// machineOf returns the state machine of either name.
func machineOf(name string) (machine, bool) {
	for _, m := range machines {
		if name == m.name || name == m.full {
			return m, true
		}
	}
	return machines[0], false
}

// machineNames lists them for a person.
func machineNames() string {
	var all []string
	for _, m := range machines {
		all = append(all, `"`+m.name+`"`)
	}
	return strings.Join(all, " or ")
}

// machine returns the log's state machine.
func (l *Log) machine() machine {
	m, _ := machineOf(l.Machine)
	return m
}

// newState makes an empty state of the machine that a genesis names. One that this version does not have is refused before (see fits).
func newState(g txlog.Genesis) func() txlog.State {
	m, _ := machineOf(g.Machine)
	return m.make
}
