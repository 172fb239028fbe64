package slots_test

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/examples/slots"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/domain/domaintest"
	"github.com/conchhq/conch/sequencer/ledger"
)

// P12, P36: the register is a domain.
func TestSlotsAreADomain(t *testing.T) {
	t.Parallel()
	domaintest.Exercise(t, slots.New("yard"), domaintest.Fixture{
		Owner: "yard",
		Requests: []string{
			`{"do":"open","day":"2026-11-30","slots":3}`,
			`{"day": "2026-11-30", "do": "pass", "slot": 2, "to": "0x6e6f727468"}`, // north
			`{"do":"pass","day":"2026-11-30","slot":3,"to":"0x79617264"}`,          // yard
			`{"do":"close","day":"2026-11-30"}`,
		},
		Wrong: []string{
			``, `{}`, `null`, `[]`, `{"do":"open"}`, `{"do":"shut","day":"2026-11-30"}`, `{"do":"close","day":"2026-11-30"} {}`, `{"do":"close","day":"2026-11-30"}}`,
			`{"do":"open","day":"2026-11-31","slots":3}`, `{"do":"open","day":"2026-11-30","slots":0}`, `{"do":"open","day":"2026-11-30","slots":97}`,
			`{"do":"open","day":"2026-11-30","slots":3,"slot":1}`, `{"do":"close","day":"2026-11-30","to":"0x00"}`, `{"do":"close","day":"2026-11-30","why":"rain"}`,
			`{"do":"pass","day":"2026-11-30","slot":0,"to":"0x00"}`, `{"do":"pass","day":"2026-11-30","slot":97,"to":"0x00"}`,
			`{"do":"pass","day":"2026-11-30","slot":1,"to":"0x"}`, `{"do":"pass","day":"2026-11-30","slot":1,"to":"north"}`, `{"do":"pass","day":"2026-11-30","slot":1,"to":"0xAB"}`,
		},
	})
}

func states(texts ...string) (all []domain.State) {
	for _, text := range texts {
		all = append(all, domain.State{Secret: domain.Secret{Data: []byte(text)}})
	}
	return all
}

// P36: what a member must not do is refused, however well it is formed.
func TestEndorsersRefuse(t *testing.T) {
	t.Parallel()
	const (
		day   = `{"day":"2026-11-30"}`
		other = `{"day":"2026-12-01"}`
		one   = `{"day":"2026-11-30","slot":1,"holder":"0x6e6f727468"}` // north
		two   = `{"day":"2026-11-30","slot":2,"holder":"0x6e6f727468"}`
		east  = `{"day":"2026-11-30","slot":1,"holder":"0x65617374"}`
		pass  = `{"do":"pass","day":"2026-11-30","slot":1,"to":"0x65617374"}`
		shut  = `{"do":"close","day":"2026-11-30"}`
		open  = `{"do":"open","day":"2026-11-30","slots":1}`
	)
	for name, c := range map[string]struct {
		owner                ledger.Account
		payload              string
		inputs, reads, comes []string
		good                 bool
	}{
		"its holder passes it":                {"north", pass, []string{one}, []string{day}, []string{east}, true},
		"another passes it":                   {"east", pass, []string{one}, []string{day}, []string{east}, false},
		"the warehouse passes it":             {"yard", pass, []string{one}, []string{day}, []string{east}, false},
		"another slot":                        {"north", pass, []string{two}, []string{day}, []string{east}, false},
		"another day is open":                 {"north", pass, []string{one}, []string{other}, []string{east}, false},
		"a slot for the day":                  {"north", pass, []string{one}, []string{two}, []string{east}, false},
		"it stays where it was too":           {"north", pass, []string{one}, []string{day}, []string{east, one}, false},
		"the warehouse closes":                {"yard", shut, []string{day}, nil, nil, true},
		"a hauler closes":                     {"north", shut, []string{day}, nil, nil, false},
		"a close that spends a slot":          {"yard", shut, []string{one}, nil, nil, false},
		"a close of another day":              {"yard", shut, []string{other}, nil, nil, false},
		"the warehouse opens":                 {"yard", open, nil, nil, []string{day, `{"day":"2026-11-30","slot":1,"holder":"0x79617264"}`}, true},
		"a hauler opens":                      {"north", open, nil, nil, []string{day, one}, false},
		"it opens for a friend":               {"yard", open, nil, nil, []string{day, one}, false},
		"an open that spends what is a day's": {"yard", open, []string{one}, nil, []string{day, `{"day":"2026-11-30","slot":1,"holder":"0x79617264"}`}, false},
	} {
		p := domain.Proposal{Intent: ledger.Intent{Owner: c.owner}, Payload: []byte(c.payload), Inputs: states(c.inputs...), Reads: states(c.reads...)}
		for _, text := range c.comes {
			p.Outputs = append(p.Outputs, []byte(text))
		}
		if err := slots.New("yard").Endorse(p); (err == nil) != c.good || err != nil && !errors.Is(err, domain.ErrNever) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
