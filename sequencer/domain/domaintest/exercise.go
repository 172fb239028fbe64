// Package domaintest is the suite that the rules of every domain must pass.
//
//	domaintest.Exercise(t, notes.New("bank"), domaintest.Fixture{
//		Owner:    "bank",
//		Requests: []string{`{"issue":{"to":"rent","amount":100}}`, `{"pay":{"from":"rent","to":"petty","amount":5}}`},
//		Wrong:    []string{`{"pay":{}}`},
//	})
//
// It carries out the requests one after another, each on the states that those before it have left, and judges what the
// rules say of them and of everything that is nearly the same:
//
//   - equal arguments have equal answers, and the arguments are left as they were;
//   - a payload is the payload of itself, and what is wrong is refused;
//   - Assemble uses states of its view, each once, and Endorse accepts what it proposes;
//   - Endorse refuses the same proposal with one thing changed: a byte of the payload or of an output, another request's
//     payload, an output more or less or in another place, an input or a read more or less, other data;
//   - no bytes make the rules panic.
//
// It cannot know what a domain means: whether money is conserved is for the domain's own tests.
package domaintest

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Fixture is what the suite asks of rules. Several requests make a better test: one that finds states that several
// others have left, one that leaves a rest.
type Fixture struct {
	Owner    ledger.Account // of all requests
	Requests []string       // each can be carried out on what those before it have left
	Wrong    []string       // Prepare refuses them
}

// Exercise judges rules. Each promise is a subtest.
func Exercise(t *testing.T, rules domain.Rules, f Fixture) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := judge(c, rules, f); err != nil {
				t.Error(err)
			}
		})
	}
}

type promise struct {
	name  string
	check func(*trial) error
}

var cases = []promise{
	{"OneForm", oneForm},
	{"WrongRequests", wrongRequests},
	{"EqualAnswers", equalAnswers},
	{"ArgumentsAreLeft", argumentsAreLeft},
	{"OwnProposals", ownProposals},
	{"Changes", changesAreRefused},
	{"AnyBytes", anyBytes},
}

// judge returns the first fault. A panic is one.
func judge(c promise, rules domain.Rules, f Fixture) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the rules panic: %v", p)
		}
	}()
	if len(f.Requests) < 2 || len(f.Wrong) == 0 {
		return fmt.Errorf("%d requests and %d wrong ones prove nothing: name two and one at least", len(f.Requests), len(f.Wrong))
	}
	return c.check(&trial{Rules: rules, Fixture: f})
}
