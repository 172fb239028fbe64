package pending_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/pending"
)

// An intent that waits for money, behind another one, or for a node that refuses it, gets no nonce once its last block is there or its
// time is over: it ends as expired, whatever comes later. One that has a nonce by then is carried out. Others do not wait for it.
func TestWhatIsTooLateIsNotSigned(t *testing.T) { //nolint:tparallel // they share the instant at which the one that runs began
	t.Parallel()
	const pays = 30 * time.Second // from when on there is money
	began := time.Time{}          // of the test that runs
	refuses := func(data string) error {
		switch {
		case strings.HasPrefix(data, "poor") && time.Since(began) < pays:
			return chain.ErrFunds
		case strings.HasPrefix(data, "refused"):
			return chain.ErrCall
		}
		return nil
	}
	for name, c := range map[string]struct {
		relaxed bool
		intents []string // data, and fate
		block   uint64   // the last one of those that are timely
		time    time.Duration
	}{
		"by its block": {false, []string{"poor expired", "poor expired", "good expired"}, 20, 0},
		"by its time":  {false, []string{"poor expired", "poor expired", "good expired"}, 0, 20 * time.Second},
		"in time":      {false, []string{"poor done", "poor done", "good done"}, 60, time.Minute},
		"relaxed":      {true, []string{"poor expired", "good done", "poor expired"}, 20, 0},
		"refused":      {false, []string{"refused expired", "refused expired"}, 8, 0},
		"many":         {false, strings.Split(strings.Repeat("poor expired,", 300)+"good expired", ","), 20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began = time.Now()
				node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
				from := node.Account("sender", 1<<60)
				store := &pending.Memory{}
				cfg := pending.Config{Account: from, Chain: picky{node.Line(), refuses}, Store: store, Relaxed: c.relaxed, Sequence: new(pending.Sequence)}
				accept := func(in pending.Intent) pending.ID {
					in.Account, in.Call.To = from, []byte("x")
					out, err := store.Accept(t.Context(), in)
					if err != nil {
						t.Fatal(err)
					}
					return out.ID
				}
				var ids []pending.ID
				for _, one := range c.intents {
					data, _, _ := strings.Cut(one, " ")
					in := pending.Intent{Call: chain.Call{Data: []byte(data)}, LastBlock: c.block}
					if c.time > 0 {
						in.ValidUntil = began.Add(c.time)
					}
					ids = append(ids, accept(in))
				}
				ids = append(ids, accept(pending.Intent{Call: chain.Call{Data: []byte("has time")}}))
				_, end := leads(t, cfg)
				defer end()
				record := func(id pending.ID) pending.Record {
					r, err := store.Get(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				open := func(id pending.ID) bool { return record(id).Fate == pending.Open }
				for ; slices.ContainsFunc(ids, open); time.Sleep(time.Second) {
					node.Mine()
					if time.Since(began) > 4*time.Minute {
						break
					}
				}
				for i, one := range append(c.intents, "has-time done") {
					r := record(ids[i])
					if data, fate, _ := strings.Cut(one, " "); r.Fate.String() != fate || (r.Index == nil) != (fate == "expired") {
						t.Errorf("intent %d, %s: it is %s, with the nonce %v; want it %s", i, data, r.Standing(), r.Index, fate)
					}
				}
			})
		})
	}
}
