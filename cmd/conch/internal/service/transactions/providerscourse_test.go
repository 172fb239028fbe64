//go:build unix

package transactions

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/endpoints"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/evm/evmtest"
	"github.com/conchhq/conch/chain/feed"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
)

// providerPatience bounds each wait. It is generous: a test asserts what is true in the end, and no time.
func providerPatience() time.Duration {
	if runtest.Nightly() {
		return 10 * time.Minute // the real distance of a rollup's finality takes minutes
	}
	return 3 * time.Minute
}

// course is one account whose transactions go through one provider.
type course struct {
	*testing.T
	profile  evmtest.Profile
	program  string        // of the node
	node     *evmtest.Node // the witness: it is read directly
	provider *evmtest.Provider
	second   *evmtest.Provider // nil: there is one endpoint
	key      *evmtest.Key
	store    *pending.Memory
	from     uint64 // the height at which the account's history begins
	began    time.Time

	ids       []pending.ID
	strangers map[string]bool // the hashes of transactions that conch did not sign
	ended     map[pending.ID]bool

	mu    sync.Mutex
	epoch int64
	told  []string // troubles and alarms, as they came
	stop  func()   // ends the leader
}

func newCourse(t *testing.T, node *evmtest.Node, profile evmtest.Profile) *course {
	t.Helper()
	w := &course{
		T: t, profile: profile, node: node, provider: evmtest.Start(t, node, profile), key: evmtest.NewKey(t),
		began: time.Now(), strangers: map[string]bool{}, ended: map[pending.ID]bool{}, stop: func() {},
	}
	w.store = &pending.Memory{Fence: func(token fence.Token) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if token.Epoch != w.epoch {
			return fence.ErrStale
		}
		return nil
	}}
	w.check(node.Fund(t.Context(), w.key.Account(), 1e9))
	w.from = w.height()
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *course) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *course) height() uint64 {
	w.Helper()
	n, err := w.node.Height(w.Context(), "latest")
	w.check(err)
	return n
}

// pass waits until the chain has so many more blocks.
func (w *course) pass(blocks uint64) {
	w.Helper()
	until := w.height() + blocks
	w.eventually(fmt.Sprintf("the chain is at block %d", until), func() bool { return w.height() >= until })
}

func (w *course) eventually(what string, cond func() bool) {
	w.Helper()
	deadline := time.Now().Add(providerPatience())
	for pause := 20 * time.Millisecond; !cond(); pause = min(2*pause, 100*time.Millisecond) { // of a block
		if time.Now().After(deadline) {
			w.Fatalf("not within %v: %s\n%s", providerPatience(), what, w.report())
		}
		timer := time.NewTimer(pause)
		<-timer.C
	}
}

// accept stores n intents. The data of each is its mark in the chain.
func (w *course) accept(n int) {
	w.Helper()
	for range n {
		call := chain.Call{To: []byte(strings.Repeat("p", 20)), Data: []byte(fmt.Sprintf("%s %d", w.profile.Name, len(w.ids)))}
		in, err := w.store.Accept(w.Context(), pending.Intent{Account: w.key.Account(), Call: call})
		w.check(err)
		w.ids = append(w.ids, in.ID)
	}
}

// lead begins a leader in a new term, with connections of its own, as a new process would. A leader
// that was there is killed.
func (w *course) lead() {
	w.Helper()
	w.stop()
	w.mu.Lock()
	w.epoch++
	token := fence.Token{Scope: w.profile.Name, Epoch: w.epoch, Holder: fmt.Sprint("node ", w.epoch), Term: fence.Term{byte(w.epoch)}}
	w.mu.Unlock()
	driver, err := w.connect()
	w.check(err)
	manager, err := pending.New(pending.Config{
		Account: w.key.Account(), Chain: driver, Store: w.store, RejectAfter: time.Second, RaiseAfter: 500 * time.Millisecond, Retry: 100 * time.Millisecond,
		Patience: 500 * time.Millisecond, Pace: 200 * time.Millisecond, Repair: 200 * time.Millisecond, SearchAfter: 6,
		Events: pending.Events{
			Trouble: func(err error) { w.tell(err.Error()) },
			Alarm:   func(a pending.Alarm) { w.tell(fmt.Sprintf("alarm %v raised=%v: %s", a.Cause, a.Raised, a.Why)) },
		},
	})
	w.check(err)
	gate, latch := fence.New(token.Scope, fence.Boottime)
	latch.Open(token, 0, fence.Boottime().Add(time.Hour))
	ctx, kill := context.WithCancelCause(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := manager.Lead(ctx, gate, token); !errors.Is(err, errKilled) {
			w.tell("the leader has ended: " + err.Error())
		}
	}()
	w.stop = func() {
		kill(errKilled)
		pgtest.Within(w, providerPatience(), "the leader ends", func() { <-over })
		driver.Close()
		w.stop = func() {}
	}
}

// shared is the driver of one leader, as the accounts of a process share it.
type shared struct {
	chain.Chain
	feed   *feed.Feed
	driver chain.Chain
}

func (s shared) Close() {
	s.feed.Close()
	disconnect(s.driver)
}

// connect makes the driver of one leader.
func (w *course) connect() (shared, error) {
	driver, err := w.driver()
	if err != nil {
		return shared{}, err
	}
	f := feed.New(driver)
	return shared{f.Of(w.key.Account()), f, driver}, nil
}

func (w *course) driver() (chain.Chain, error) {
	url := w.provider.HTTP()
	if w.profile.WS {
		url = w.provider.WS()
	}
	timeout, largest := cmp.Or(w.profile.Timeout, 3*time.Second), 1<<20
	if runtest.Nightly() { // batches of hundreds, on a busy machine
		timeout, largest = 10*time.Second, 8<<20
	}
	cfg := evm.Config{
		URL: url, ChainID: w.node.ChainID, Signers: []evm.Signer{w.key}, Depth: w.profile.Depth, Poll: 50 * time.Millisecond, Timeout: timeout, MaxAnswer: largest,
		MaxCallsPerSecond: float64(w.profile.Calls),
	}
	one, err := evm.New(cfg)
	if err != nil || w.second == nil {
		return one, err
	}
	cfg.URL = w.second.HTTP()
	two, err := evm.New(cfg)
	if err != nil {
		return nil, err
	}
	return endpoints.New(endpoints.Config{
		Endpoints: []endpoints.Endpoint{{Name: url, Chain: one}, {Name: cfg.URL, Chain: two}}, Trouble: func(err error) { w.tell(err.Error()) },
	})
}

var errKilled = errors.New("killed by the test")

func (w *course) tell(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, text)
}

// says waits until a trouble or an alarm names the endpoint and has one of the words.
func (w *course) says(words ...string) {
	w.Helper()
	host := w.provider.Host()
	w.eventually(fmt.Sprintf("what waits says why, with the endpoint %s and a word of %q", host, words), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.told, func(text string) bool {
			return strings.Contains(text, host) && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
		})
	})
}

// waits waits until the API says of each open transaction with a nonce that it waits for a reason which names the
// endpoint and has one of the words.
func (w *course) waits(words ...string) {
	w.Helper()
	host := w.provider.Host()
	w.eventually(fmt.Sprintf("waiting_for has the endpoint %s and a word of %q", host, words), func() bool {
		for _, id := range w.ids {
			r, err := w.store.Get(w.Context(), id)
			w.check(err)
			said := waitingFor(r)
			if said == nil || !strings.Contains(said.Reason, host) || !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(said.Reason, word) }) {
				return false
			}
		}
		return true
	})
}

// sent waits until transactions with so many nonces have come to the provider, and returns the first of each.
func (w *course) sent(n int) (all []evmtest.Transaction) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d transactions are sent", n), func() bool {
		all = nil
		seen := map[uint64]bool{}
		for _, tx := range w.provider.Sent() {
			if !seen[tx.Nonce] {
				seen[tx.Nonce] = true
				all = append(all, tx)
			}
		}
		return len(all) >= n
	})
	return all
}

// matters waits until the profile has changed an answer. Otherwise the test would show nothing.
func (w *course) matters() {
	w.Helper()
	w.eventually("the provider has changed an answer", func() bool { return w.profile.Harmless || w.provider.Strikes() > 0 })
}

// done waits until the store says done for every intent, and then asks the chain.
func (w *course) done() {
	w.Helper()
	w.matters()
	w.eventually("each intent is done", func() bool {
		open := 0
		for _, id := range w.ids {
			if w.ended[id] {
				continue
			}
			r, err := w.store.Get(w.Context(), id)
			w.check(err)
			switch r.Fate {
			case pending.Done:
				w.ended[id] = true
				w.endedInTime(r)
			case pending.Open:
				open++
			default:
				w.Fatalf("intent %x is %v: %s\n%s", id, r.Fate, r.Why, w.report())
			}
		}
		return open == 0
	})
	w.stop()
	if refused := w.provider.Refused(); w.profile.Calls > 0 && refused > 2*w.profile.Calls {
		w.Errorf("%d calls were refused although the limit is configured, want those of two beginnings at most", refused)
	}
	if refused, most := w.provider.Refused(), 2*16+w.intents()/10; w.profile.FewSlots && refused > most {
		w.Errorf("%d sends were refused, want those of two leaders that begin with 16 each, and one of ten: %d at most", refused, most)
	}
	w.verdict()
}

// endedInTime asks the witness whether the block of an intent that is said to be done is final.
func (w *course) endedInTime(r pending.Record) {
	w.Helper()
	final, err := w.node.Height(w.Context(), "finalized")
	w.check(err)
	if block := r.Last.Block; block.Number > final || block.Number == 0 {
		w.Errorf("intent %x is said to be done in block %d, and the final block is %d", r.ID, block.Number, final)
	}
}

// verdict reads the chain: each intent is there once, and nothing else of the account.
func (w *course) verdict() {
	w.Helper()
	times, foreign := map[string]int{}, 0
	mined, err := w.node.Mined(w.Context(), w.key.Account(), w.from)
	w.check(err)
	for _, tx := range mined {
		data, err := hex.DecodeString(strings.TrimPrefix(tx.Input, "0x"))
		w.check(err)
		switch {
		case w.strangers[tx.Hash]:
		case strings.HasPrefix(string(data), w.profile.Name+" "):
			times[string(data)]++
		default:
			foreign++
		}
	}
	for i := range w.ids {
		if n := times[fmt.Sprintf("%s %d", w.profile.Name, i)]; n != 1 {
			w.Errorf("intent %d is in the chain %d times, want once\n%s", i, n, w.report())
		}
	}
	if foreign > 0 {
		w.Errorf("the chain has %d transactions of the account that carry out no intent\n%s", foreign, w.report())
	}
	w.Logf("what was seen\n%s", w.report())
	spent.note(w)
}

// report says what the leaders told, each text once, and where the intents are.
func (w *course) report() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out strings.Builder
	times := map[string]int{}
	for _, text := range w.told {
		if times[text]++; times[text] == 1 && len(times) <= 12 {
			fmt.Fprintf(&out, "  told: %s\n", text)
		}
	}
	states := map[string]int{}
	records, err := w.store.List(context.Background(), pending.Filter{Most: len(w.ids)})
	if err != nil {
		return err.Error()
	}
	for _, r := range records {
		states[r.Standing()+" "+r.Last.Status.String()]++
	}
	fmt.Fprintf(&out, "  told %d times; intents: %v; calls: %v; requests: %d, refused calls: %d, changed: %d; sent: %d",
		len(w.told), states, w.provider.Calls(), w.provider.Requests(), w.provider.Refused(), w.provider.Strikes(), len(w.provider.Sent()))
	return out.String()
}
