package pending_test

import (
	"math/big"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/pending"
)

// The alarm about intents that wait for money ends once none does, also if the manager is only woken, as one of many
// that share a database is.
func TestTheAlarmAboutMoneyEnds(t *testing.T) {
	t.Parallel()
	for name, cancelled := range map[string]bool{"it is cancelled": true, "the money has come": false} {
		synctest.Test(t, func(t *testing.T) {
			node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
			from := node.Account("sender", dear-1)
			line, store := node.Line(), &pending.Memory{}
			line.Delay(50 * time.Millisecond) // signing takes longer than counting
			var mu sync.Mutex
			poor := false
			alarmed := func() bool {
				mu.Lock()
				defer mu.Unlock()
				return poor
			}
			cfg := pending.Config{
				Account: from, Chain: line, Store: store, Relaxed: true, Repair: time.Hour,
				Events: pending.Events{Alarm: func(a pending.Alarm) {
					mu.Lock()
					defer mu.Unlock()
					if a.Cause == pending.Funds {
						poor = a.Raised
					}
				}},
			}
			m, end := leads(t, cfg)
			pass := func(seconds int) {
				for range seconds {
					node.Mine()
					if w, err := store.Waiting(t.Context(), from); err != nil {
						t.Fatal(err)
					} else if w.Queued > 0 {
						m.Wake()
					}
					time.Sleep(time.Second)
				}
			}
			pass(5)
			in, err := store.Accept(t.Context(), pending.Intent{Account: from, Call: chain.Call{To: []byte("x"), Value: big.NewInt(dear)}})
			if err != nil {
				t.Fatal(err)
			}
			if pass(180); !alarmed() {
				t.Errorf("%s: after three minutes without money there is no alarm", name)
			}
			end()
			m, end = leads(t, cfg) // the next one hears of it when it loads the rows
			if pass(5); !alarmed() {
				t.Errorf("%s: the next leader has no alarm", name)
			}
			if cancelled {
				if err := store.Cancel(t.Context(), in.ID); err != nil {
					t.Fatal(err)
				}
				m.Wake()
			} else {
				node.Fund(from, dear)
			}
			if pass(90); alarmed() {
				t.Errorf("%s: the alarm does not end", name)
			}
			end()
		})
	}
}

// W19: in strict order nothing is put off, also not by a leader before in relaxed order: a reload may have changed it.
func TestStrictAfterRelaxed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
		from := node.Account("sender", dear-1)
		store := &pending.Memory{}
		cfg := pending.Config{Account: from, Chain: node.Line(), Store: store, Relaxed: true}
		pass := func() { node.Mine(); time.Sleep(time.Second) }
		in, err := store.Accept(t.Context(), pending.Intent{Account: from, Call: chain.Call{To: []byte("x"), Value: big.NewInt(dear)}})
		if err != nil {
			t.Fatal(err)
		}
		record := func() pending.Record {
			r, err := store.Get(t.Context(), in.ID)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		_, end := leads(t, cfg)
		for time.Until(record().Refusal.Until) < 30*time.Second {
			pass()
		}
		end()
		node.Fund(from, dear)
		cfg.Relaxed = false
		_, end = leads(t, cfg)
		for range 5 {
			pass()
		}
		end()
		if r := record(); r.Index == nil {
			t.Errorf("five seconds after strict order began it has no nonce: %+v", r.Refusal)
		}
	})
}
