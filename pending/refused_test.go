package pending_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/pending"
)

// picky refuses some calls, as an estimate does.
type picky struct {
	chain.Chain
	refuses func(data string) error
}

func (p picky) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	prepared, err := p.Chain.Prepare(ctx, drafts)
	for i := range prepared {
		if why := p.refuses(string(drafts[i].Call.Data)); why != nil && !drafts[i].Filler {
			prepared[i] = chain.Prepared{Err: why}
		}
	}
	return prepared, err
}

// W12: refusals are judged side by side: the time of each begins when it was first refused, and not when those before it
// are over. What is behind them waits about as long as behind one, in the default order too, also if the leader
// changes meanwhile. A call that is refused for some seconds only is carried out, and before those behind it.
func TestRefusalsAreJudgedSideBySide(t *testing.T) { //nolint:tparallel // they share the instant at which the one that runs began
	t.Parallel()
	began := time.Time{} // of the test that runs
	late := func(after time.Duration, why error) error {
		if time.Since(began) < after {
			return why
		}
		return nil
	}
	refuses := func(data string) error {
		switch data {
		case "revert":
			return chain.ErrCall
		case "odd":
			return chain.ErrUnclear
		case "late":
			return late(8*time.Second, chain.ErrCall)
		case "away":
			return late(20*time.Second, chain.ErrAnswer)
		}
		return nil
	}
	for name, c := range map[string]struct {
		calls    []string // times each
		relaxed  bool
		takeover bool
		within   time.Duration
	}{
		"six":                   {[]string{"6 revert", "1 good"}, false, false, 21 * time.Second},
		"a hundred":             {[]string{"100 revert", "1 good"}, false, false, 23 * time.Second},
		"a hundred and a term":  {[]string{"100 revert", "1 good"}, false, true, 24 * time.Second},
		"a hundred, relaxed":    {[]string{"100 revert", "1 good"}, true, false, 3 * time.Second},
		"behind one that waits": {[]string{"1 late", "40 revert", "1 good"}, false, false, 30 * time.Second},
		"among good ones":       {[]string{"1 revert", "1 good", "1 revert", "1 good", "1 revert", "1 good"}, false, false, 26 * time.Second},
		"odd words":             {[]string{"40 odd", "1 good"}, false, false, pendingOdd},
		"no answer":             {[]string{"1 away", "40 revert", "1 good"}, false, false, 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began = time.Now()
				node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
				from := node.Account("sender", 1<<60)
				store := &pending.Memory{}
				cfg := pending.Config{Account: from, Chain: picky{node.Line(), refuses}, Store: store, Relaxed: c.relaxed, Sequence: new(pending.Sequence)}
				var ids []pending.ID
				for _, some := range c.calls {
					var n int
					var data string
					_, _ = fmt.Sscan(some, &n, &data)
					for range n {
						in, err := store.Accept(t.Context(), pending.Intent{Account: from, Call: chain.Call{To: []byte("x"), Data: []byte(data)}})
						if err != nil {
							t.Fatal(err)
						}
						ids = append(ids, in.ID)
					}
				}
				record := func(id pending.ID) pending.Record {
					r, err := store.Get(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				_, end := leads(t, cfg)
				defer func() { end() }()
				for last := ids[len(ids)-1]; record(last).Index == nil; time.Sleep(time.Second) {
					node.Mine()
					if c.takeover && time.Since(began) == 9*time.Second {
						end()
						_, end = leads(t, cfg)
					}
					if time.Since(began) > time.Hour {
						t.Fatal("after an hour the last one has no nonce")
					}
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("the last one has a nonce after %v, want within %v", took, c.within)
				}
				for range 60 {
					node.Mine()
					time.Sleep(time.Second)
				}
				above := uint64(0)
				for _, id := range ids {
					switch r := record(id); refuses(string(r.Call.Data)) {
					case nil:
						if r.Fate != pending.Done || *r.Index < above {
							t.Errorf("%s is %v with nonce %v, want it done with one from %d on", r.Call.Data, r.Fate, r.Index, above)
							continue
						}
						above = *r.Index + 1
					default:
						if r.Fate != pending.Rejected {
							t.Errorf("%s is %v, want it rejected", r.Call.Data, r.Fate)
						}
					}
				}
			})
		})
	}
}

const pendingOdd = 140 * time.Second
