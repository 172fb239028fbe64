//go:build unix

package transactions

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/conchhq/conch/chain/evm/evmtest"
	"github.com/conchhq/conch/internal/runtest"
)

// devnode is the folder of the node's program.
const devnode = "../../../../../chain/evm/cmd/conch-devnode"

// atOnce is how many profiles run at the same time.
const atOnce = 4

// nodeFor returns a node for a profile. By night those that break nothing and send little share one, as accounts share a chain: each
// reads blocks with the transactions of others. By day each has its own, since all of them would read what each one sends.
func nodeFor(t *testing.T, program string, p evmtest.Profile, shared *evmtest.Node) *evmtest.Node {
	t.Helper()
	switch {
	case p.Own != nil:
		return evmtest.StartNode(t, program, p.Own...)
	case shared == nil || p.Intents > 20:
		return evmtest.StartNode(t, program, hurried...)
	}
	return shared
}

// hurried are the flags of a node that makes a test wait for no block.
var hurried = []string{"--block-time", "100ms"}

// Each profile of a provider: the transactions go through it, leaders are killed, and by the chain's
// blocks alone each intent is carried out once. What a provider stops for good waits, and says why.
func TestProviders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a node")
	}
	program := evmtest.Program(t, devnode)
	var shared *evmtest.Node
	if runtest.Nightly() {
		shared = evmtest.StartNode(t, program, hurried...)
	}
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	left := maps.Clone(daily)
	for _, p := range priced(t, evmtest.Profiles(runtest.Nightly())) {
		byDay := daily[p.Fault] == p.Name
		if byDay {
			delete(left, p.Fault)
		}
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(p.Name, func(t *testing.T) {
				if !byDay && !spent.printed() {
					runtest.LongRun(t)
				}
				w := newCourse(t, nodeFor(t, program, p, shared), p)
				w.program = program
				if play := plays[p.Name]; play != nil {
					play(w)
				} else {
					w.play()
				}
			})
		})
	}
	running.Wait()
	if len(left) > 0 {
		t.Errorf("there are no profiles %v", left)
	}
	if spent.printed() {
		spent.print()
	}
}

// When the fault of a profile may be on; see evmtest.Profile.
const always, passing, takeover, lasting, directed = "", "passing", "takeover", "lasting", "directed"

// daily are the profiles of `make test`: one for each time at which a fault may be on, which decides the course. What each answer of
// each provider means, chain/evm shows without a leader.
var daily = map[string]string{
	always: "backends-by-item", passing: "pool-swallows", takeover: "lie-count", lasting: "bad-page",
	directed: "dead-branch-by-item",
}

// searched are profiles in which each transaction costs a search through the blocks.
var searched = []string{"lie-stranger", "index-missing"}

// intents is how many transactions a profile sends.
func (w *course) intents() int {
	switch {
	case runtest.Nightly():
		return max(300, w.profile.Intents)
	case slices.Contains(searched, w.profile.Name):
		return 4
	}
	return max(10, w.profile.Intents)
}

// first is how many of them come before the first leader is killed. What the profile needs comes at once.
func (w *course) first() int {
	if w.profile.Intents > 0 {
		return w.intents() - 5
	}
	return w.intents() / 2
}

// play is the course of most profiles: a leader is killed in the middle, and its successor goes on.
func (w *course) play() {
	w.Helper()
	some := w.first()
	switch w.profile.Fault {
	case passing, lasting:
		w.provider.Fault.On()
	default:
	}
	w.accept(some)
	w.lead()
	switch w.profile.Fault {
	case passing:
		w.pass(w.profile.Blocks / 2)
	case lasting:
		w.says(w.profile.Says...)
		w.others()
	case takeover:
		w.mined(some)
		w.stop() // else the lie may be told to a leader that is over
		w.provider.Fault.On()
	default:
		w.sent(1)
	}
	w.lead()
	w.accept(w.intents() - some)
	switch w.profile.Fault {
	case passing:
		w.matters()
		w.pass(w.profile.Blocks - w.profile.Blocks/2)
		w.provider.Fault.Off()
	case lasting:
		w.says(w.profile.Says...)
		w.provider.Fault.Off()
	case takeover:
		w.eventually("the lie is told", func() bool { return !w.provider.Fault.IsOn() })
	default:
	}
	w.done()
}

// others sends beside the provider through a healthy one, in the same process.
func (w *course) others() {
	w.Helper()
	other := newCourse(w.T, w.node, evmtest.Profile{Name: w.profile.Name + ", beside it", Harmless: true})
	other.accept(2)
	other.lead()
	other.done()
}
