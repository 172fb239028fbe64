package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/endpoints"
)

// fake is an endpoint that answers as it is told.
type fake struct {
	chain.Chain
	mu      sync.Mutex
	err     error
	next    uint64
	stand   chain.Stand
	genesis chain.Hash
	verdict chain.Verdict
	takes   time.Duration
	sends   int
	asked   []chain.Claim
}

func (f *fake) fault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fake) Describe(context.Context) (chain.Description, error) {
	return chain.Description{ID: "test:1", Genesis: f.genesis, MaxBatch: 100}, f.fault()
}

func (f *fake) Next(context.Context, chain.Account) (uint64, error) { return f.next, f.fault() }

func (f *fake) Confirm(_ context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	f.mu.Lock()
	f.asked = claims
	f.mu.Unlock()
	opinions := make([]chain.Opinion, len(claims))
	for i := range opinions {
		opinions[i] = chain.Opinion{Stand: f.stand, Why: "its words"}
	}
	return opinions, f.fault()
}

func (f *fake) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	f.mu.Lock()
	f.sends++
	f.mu.Unlock()
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
	}
	outcomes := make([]chain.Outcome, len(attempts))
	for i := range outcomes {
		outcomes[i] = chain.Outcome{Verdict: f.verdict, Text: "said"}
	}
	return outcomes
}

func (f *fake) Heads(context.Context, chain.Block) iter.Seq2[chain.Turn, error] { return nil }

// W4: reads stick to the endpoint of the highest weight, move when it errs, and move back once it has
// rested and the next one errs.
func TestReadsStick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := &fake{next: 1}, &fake{next: 2}
		s := set(t, endpoints.Endpoint{Name: "b", Chain: b}, endpoints.Endpoint{Name: "a", Chain: a, Weight: 2})
		wants := func(when string, want uint64) {
			t.Helper()
			if n, err := s.Next(t.Context(), "x"); err != nil || n != want {
				t.Errorf("%s: got %d, %v, want the answer %d", when, n, err, want)
			}
		}
		wants("at first", 1)
		a.fail(chain.ErrUnreachable)
		wants("the first errs", 2)
		a.fail(nil)
		wants("the first is back", 2)
		b.fail(chain.ErrAnswer)
		time.Sleep(time.Minute) // virtual: the first has rested
		wants("the second errs", 1)
		a.fail(chain.ErrForeign)
		_, err := s.Next(t.Context(), "x")
		if !errors.Is(err, chain.ErrForeign) || !errors.Is(err, chain.ErrAnswer) || !strings.Contains(fmt.Sprint(err), "a: ") || !strings.Contains(fmt.Sprint(err), "b: ") {
			t.Errorf("both err: got %v, want both errors with the names", err)
		}
	})
}

// An endpoint of another chain, or of a fork of this one, is put aside, and the chain goes on.
func TestAForeignEndpointIsPutAside(t *testing.T) {
	t.Parallel()
	var troubles []string
	good, fork := &fake{genesis: "g"}, &fake{genesis: "h"}
	s, err := endpoints.New(endpoints.Config{
		Endpoints: []endpoints.Endpoint{{Name: "good", Chain: good}, {Name: "fork", Chain: fork}},
		Trouble:   func(err error) { troubles = append(troubles, err.Error()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Describe(t.Context())
	if err != nil || d.By != "good" || len(troubles) != 1 || !strings.Contains(troubles[0], "fork: ") {
		t.Errorf("got %+v, %v, troubles %q, want the chain of the first, and trouble with the second", d, err, troubles)
	}
	s.Submit(t.Context(), make([]chain.Signed, 1))
	s.Close()
	if fork.sends > 0 || good.sends != 1 {
		t.Errorf("%d sends to the fork and %d to the chain, want none and one", fork.sends, good.sends)
	}
	good.fail(chain.ErrFinality)
	if _, err := s.Describe(t.Context()); !errors.Is(err, chain.ErrFinality) {
		t.Errorf("one calls its head final: got %v, want %v", err, chain.ErrFinality)
	}
}

// W8: what one has taken is taken; a refusal counts only if nobody took it, and nobody is still to answer.
func TestVerdictsAreMerged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want chain.Verdict }{
		{chain.Accepted, chain.Invalid, chain.Accepted},
		{chain.NoFunds, chain.Known, chain.Known},
		{chain.IndexTooLow, chain.Accepted, chain.Accepted},
		{chain.IndexTooLow, chain.Invalid, chain.IndexTooLow},
		{chain.Unknown, chain.Invalid, chain.Unknown},
		{chain.Invalid, chain.Refused, chain.Refused},
		{chain.Invalid, chain.Invalid, chain.Invalid},
		{chain.Underpriced, chain.Full, chain.Underpriced},
		{chain.FeeTooLow, chain.Unfit, chain.FeeTooLow},
		{chain.Outworn, chain.Accepted, chain.Accepted},
		{chain.Outworn, chain.IndexTooLow, chain.IndexTooLow},
		{chain.Outworn, chain.Refused, chain.Outworn},
		{chain.Outworn, chain.Unfit, chain.Outworn},
		{chain.Outworn, chain.Invalid, chain.Outworn},
	} {
		for _, swap := range []bool{false, true} {
			a, b := c.a, c.b
			if swap {
				a, b = b, a
			}
			s := set(t, endpoints.Endpoint{Name: "a", Chain: &fake{verdict: a}}, endpoints.Endpoint{Name: "b", Chain: &fake{verdict: b}})
			if got := s.Submit(t.Context(), make([]chain.Signed, 2)); got[0].Verdict != c.want || got[1].Verdict != c.want {
				t.Errorf("%v and %v: got %v, want %v", a, b, got, c.want)
			}
		}
	}
}

// W8: a slow endpoint holds up no send, and gets no second one meanwhile.
func TestASlowEndpointHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[chain.Verdict]chain.Verdict{chain.Accepted: chain.Accepted, chain.NoFunds: chain.Unknown} {
		synctest.Test(t, func(t *testing.T) {
			slow, quick := &fake{verdict: chain.Accepted, takes: 10 * time.Second}, &fake{verdict: verdict}
			s := set(t, endpoints.Endpoint{Name: "slow", Chain: slow}, endpoints.Endpoint{Name: "quick", Chain: quick})
			begun := time.Now()
			got := s.Submit(t.Context(), make([]chain.Signed, 1))
			if got[0].Verdict != want || time.Since(begun) > 3*time.Second {
				t.Errorf("the quick one says %v: got %v after %v, want %v at once", verdict, got, time.Since(begun), want)
			}
			s.Submit(t.Context(), make([]chain.Signed, 1))
			s.Close() // waits for the slow one
			if slow.sends != 1 || quick.sends != 2 {
				t.Errorf("%d sends to the slow one and %d to the quick one, want 1 and 2", slow.sends, quick.sends)
			}
		})
	}
}

// Bytes go to private endpoints alone, if there are any.
func TestPrivateEndpoints(t *testing.T) {
	t.Parallel()
	public, private := &fake{verdict: chain.Accepted}, &fake{verdict: chain.Refused}
	s := set(t, endpoints.Endpoint{Name: "public", Chain: public}, endpoints.Endpoint{Name: "private", Chain: private, Private: true})
	if got := s.Submit(t.Context(), make([]chain.Signed, 1)); got[0].Verdict != chain.Refused || public.sends != 0 {
		t.Errorf("got %v, %d sends to the public one, want the private one's word and no send", got, public.sends)
	}
}

// W2: a second opinion comes from another endpoint; with three or more a majority decides.
func TestSecondOpinions(t *testing.T) {
	t.Parallel()
	const agrees, differs, mute = chain.Agrees, chain.Differs, chain.Mute
	for name, c := range map[string]struct {
		others []chain.Stand
		want   chain.Stand
		by     string
	}{
		"the other one agrees":         {[]chain.Stand{agrees}, agrees, "1"},
		"the other one differs":        {[]chain.Stand{differs}, differs, "1"},
		"the other one cannot say yet": {[]chain.Stand{mute}, mute, ""},
		"the first of two others":      {[]chain.Stand{mute, agrees}, agrees, "2"},
		"two of three":                 {[]chain.Stand{differs, agrees}, agrees, "2"},
		"two of three against it":      {[]chain.Stand{differs, differs}, differs, "1, 2"},
		"one against it, one silent":   {[]chain.Stand{differs, mute}, differs, "1"},
		"two of four against it":       {[]chain.Stand{differs, agrees, differs}, differs, "1, 3"},
		"three of four":                {[]chain.Stand{differs, agrees, agrees}, agrees, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := &fake{stand: agrees}
			members := []endpoints.Endpoint{{Name: "0", Chain: first}}
			for i, stand := range c.others {
				members = append(members, endpoints.Endpoint{Name: fmt.Sprint(i + 1), Chain: &fake{stand: stand}})
			}
			s := set(t, members...)
			got, err := s.Confirm(t.Context(), []chain.Claim{{By: "0"}})
			if err != nil || len(got) != 1 || got[0].Stand != c.want || got[0].By != c.by {
				t.Errorf("got %+v, %v, want %v by %q", got, err, c.want, c.by)
			}
			if len(first.asked) > 0 {
				t.Error("the endpoint that made the claim was asked too")
			}
		})
	}
}

// W2: while every other endpoint is silent nothing ends, for ten minutes; then the same one is asked anew.
func TestAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, other := &fake{stand: chain.Agrees}, &fake{stand: chain.Agrees, err: chain.ErrUnreachable}
		s := set(t, endpoints.Endpoint{Name: "first", Chain: first}, endpoints.Endpoint{Name: "other", Chain: other})
		claims := []chain.Claim{{By: "first"}}
		for range 9 {
			if got, err := s.Confirm(t.Context(), claims); !errors.Is(err, chain.ErrUnreachable) {
				t.Fatalf("the other one is silent: got %v, %v, want its error", got, err)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Minute)
		got, err := s.Confirm(t.Context(), claims)
		if err != nil || got[0].Stand != chain.Agrees || got[0].By != "first" || len(first.asked) != 1 || first.asked[0].By != "" {
			t.Errorf("after ten minutes: got %+v, %v, asked %+v, want the same one asked as its own witness", got, err, first.asked)
		}
		other.fail(nil)
		if got, err := s.Confirm(t.Context(), claims); err != nil || got[0].By != "other" {
			t.Errorf("the other one is back: got %+v, %v, want its word", got, err)
		}
	})
}

// W2: while one endpoint is silent, the other one's opinion about its claims counts, and that endpoint is alone
// with its own after ten minutes, whichever claims come together.
func TestAloneWithSomeClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, other := &fake{stand: chain.Agrees}, &fake{stand: chain.Agrees, err: chain.ErrUnreachable}
		s := set(t, endpoints.Endpoint{Name: "first", Chain: first}, endpoints.Endpoint{Name: "other", Chain: other})
		claims := []chain.Claim{{By: "first"}, {By: "other"}, {}}
		for minute := range 12 {
			got, err := s.Confirm(t.Context(), claims)
			if err != nil {
				t.Fatal(err)
			}
			alone := minute >= 10
			if got[0].Stand == chain.Agrees != alone || !alone && got[0].Why == "" || got[1].By != "first" || got[2].By != "first" {
				t.Errorf("after %d minutes: got %+v", minute, got)
			}
			time.Sleep(time.Minute)
		}
	})
}

// W14: a first count has no endpoint to be compared with: any one may give it, also the only one.
func TestAFirstCount(t *testing.T) {
	t.Parallel()
	one := set(t, endpoints.Endpoint{Name: "one", Chain: &fake{stand: chain.Agrees}})
	if got, err := one.Confirm(t.Context(), []chain.Claim{{Counts: true}}); err != nil || got[0].Stand != chain.Agrees || got[0].By != "one" {
		t.Errorf("got %+v, %v, want the word of the only endpoint", got, err)
	}
	three := set(t, endpoints.Endpoint{Name: "a", Chain: &fake{stand: chain.Differs}}, endpoints.Endpoint{Name: "b", Chain: &fake{stand: chain.Agrees}},
		endpoints.Endpoint{Name: "c", Chain: &fake{stand: chain.Mute}})
	if got, err := three.Confirm(t.Context(), []chain.Claim{{Counts: true}}); err != nil || got[0].Stand != chain.Differs {
		t.Errorf("got %+v, %v, want that one of three is no majority", got, err)
	}
}

// W4: the thread goes on at another endpoint when the followed one is cut, or stays behind; an endpoint
// with a huge head that does not link gets nothing.
func TestTheThreadGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cut", "behind", "liar"} {
		synctest.Test(t, func(t *testing.T) {
			node := chaintest.New(chaintest.Config{Seed: 1})
			node.Mine()
			stuck := node.Fork()
			first := node.Line()
			if how == "behind" {
				first = stuck.Line()
			}
			var second chain.Chain = node.Line()
			if how == "liar" {
				second = huge{node.Line()}
			}
			s := set(t, endpoints.Endpoint{Name: "first", Chain: first, Weight: 2}, endpoints.Endpoint{Name: "second", Chain: second})
			ctx, cancel := context.WithCancel(t.Context())
			go node.Run(ctx, time.Second)
			var numbers []uint64
			by := map[string]bool{}
			for turn, err := range s.Heads(ctx, chain.Block{}) {
				if err != nil {
					t.Errorf("%s: %v", how, err)
					break
				}
				if by[turn.By] = true; turn.Kind == chain.Applied {
					numbers = append(numbers, turn.Block.Number)
				}
				if how == "cut" && len(numbers) == 10 {
					first.SetDown(true)
				}
				if len(numbers) == 60 {
					break
				}
			}
			cancel()
			if want := how != "liar"; by["second"] != want {
				t.Errorf("%s: the turns are of %v, want some of the second: %v", how, by, want)
			}
			for i, n := range slices.Sorted(slices.Values(numbers)) {
				if n != numbers[0]+uint64(i) {
					t.Fatalf("%s: got the blocks %v, want each once", how, numbers)
				}
			}
		})
	}
}

// huge is an endpoint whose head is far above all others, and leads to nothing.
type huge struct{ *chaintest.Line }

func (huge) Tip(context.Context) (chain.Block, error) {
	return chain.Block{Number: 1 << 40, Hash: "huge", Parent: "huge"}, nil
}

// A configuration is refused with every fault.
func TestFaultsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	_, err := endpoints.New(endpoints.Config{Endpoints: []endpoints.Endpoint{{Name: "a", Chain: &fake{}}, {Name: "a", Chain: &fake{}}, {Name: "b"}}})
	if err == nil || !strings.Contains(err.Error(), `two endpoints are named "a"`) || !strings.Contains(err.Error(), `endpoint "b" needs`) {
		t.Errorf("got %v, want both faults", err)
	}
	if _, err := endpoints.New(endpoints.Config{}); err == nil {
		t.Error("got no error for no endpoint")
	}
}

// stuck is an endpoint that does not answer a send of one account.
type stuck struct {
	chain.Chain
	account chain.Account
	until   chan struct{}
}

func (s stuck) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	if attempts[0].Account == s.account {
		<-s.until
	}
	return s.Chain.Submit(ctx, attempts)
}

// A send of one account that has no answer does not hold up those of another.
func TestAccountsSendSideBySide(t *testing.T) {
	t.Parallel()
	node := chaintest.New(chaintest.Config{Seed: 1})
	one, other := node.Account("one", 1<<60), node.Account("other", 1<<60)
	until := make(chan struct{})
	s := set(t, endpoints.Endpoint{Name: "a", Chain: stuck{node.Line(), one, until}})
	var waiting sync.WaitGroup
	waiting.Go(func() { s.Submit(t.Context(), []chain.Signed{node.Foreign(one, 0)}) })
	defer waiting.Wait()
	defer close(until)
	if got := s.Submit(t.Context(), []chain.Signed{node.Foreign(other, 0)}); got[0].Verdict != chain.Accepted {
		t.Errorf("got %+v, want it accepted", got)
	}
}
