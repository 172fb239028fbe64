package pgmint_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A candidate that a farewell wakes wins with its first bid. A bid before the lock is free would cost a
// round trip and a pause, which is most of a handover (S6, S8).
func TestAScopeIsFreeWhenItsEndIsHeard(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	m := newMint(t, db.URL)
	const lease = 20 * time.Second
	leader, waiter := candidate(t, m, "a", lease, mint.Strict), candidate(t, m, "b", lease, mint.Strict)
	token := lead(t, leader, "s", lease)
	ear := db.Connect(t)
	run(t, ear, `LISTEN conch_leader_change`)
	for range 20 {
		parted := make(chan error, 1)
		go func() {
			_, err := leader.Release(t.Context(), []mint.Farewell{{Token: token, Released: true}})
			parted <- err
		}()
		for {
			n, err := ear.WaitForNotification(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(n.Payload, "s::") {
				break
			}
		}
		r := bid(t, waiter, mint.Bid{Scope: "s", Lease: lease})
		if err := <-parted; err != nil {
			t.Fatal(err)
		}
		if r.Outcome != mint.Won || !r.Handoff {
			t.Fatalf("the bid after the wake: got %+v, want Won by a handover", r)
		}
		token, leader, waiter = r.Token, waiter, leader
	}
}
