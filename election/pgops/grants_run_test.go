package pgops_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// S29: two electors, a transfer, a drain, a watcher and a fenced writer all work, each with
// no other privileges than those of its role in deploy/grants.sql.
func TestAnElectionUnderTheGrants(t *testing.T) {
	t.Parallel()
	c := granted(t)
	admin := c.DB.Connect(t)
	run(t, admin, `CREATE TABLE public.work (n int)`)
	run(t, admin, `GRANT INSERT ON public.work TO `+c.Fence)
	node := pgmint.Config{URL: c.As(t, c.Node)}

	o := observe(t, c.As(t, c.Observer))
	seen, enough := []string{}, errors.New("enough")
	watched := make(chan error, 1)
	go func() {
		watched <- o.Watch(t.Context(), "s", func(e pgops.Event) error {
			seen = append(seen, e.Event)
			if len(seen) == 5 {
				return enough
			}
			return nil
		})
	}()
	pgtest.Eventually(t, 10*time.Second, "the watcher to listen", func() bool {
		var n int
		return admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'conch watcher'`).Scan(&n) == nil && n == 1
	})

	a := obedient(t, node.URL, "a", election.Role{})
	token := wait(t, a, fence.Act)
	write := func(token fence.Token) error {
		conn := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Fence)})
		tx, err := conn.Begin(t.Context())
		if err != nil {
			return err
		}
		if _, err = tx.Exec(t.Context(), `INSERT INTO public.work VALUES (1)`); err == nil {
			err = pgfence.Fence(t.Context(), tx, token)
		}
		if err != nil {
			return errors.Join(err, tx.Rollback(t.Context()))
		}
		return tx.Commit(t.Context())
	}
	if err := write(token); err != nil {
		t.Errorf("the leader's write: %v", err)
	}
	b := obedient(t, node.URL, "b", election.Role{})
	pgtest.Eventually(t, 10*time.Second, "b to follow", func() bool { return b.Snapshot()[0].Holder == "a" })
	if _, err := pgops.Ask(t.Context(), node, pgops.Request{Scope: "s", To: "b", Actor: "ops", Timeout: 5 * time.Second}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	wait(t, b, fence.Act)
	if err := write(token); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the old leader's write: got %v, want ErrStale", err)
	}
	if _, err := pgops.Ask(t.Context(), node, pgops.Request{Scope: "s", Actor: "ops", Timeout: 5 * time.Second}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	wait(t, a, fence.Act)
	if err := <-watched; !errors.Is(err, enough) || !slices.Equal(seen, []string{"acquired", "transferred", "acquired", "drained", "acquired"}) {
		t.Errorf("the watcher saw %v, %v, want two handovers", seen, err)
	}
}
