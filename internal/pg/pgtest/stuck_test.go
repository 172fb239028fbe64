package pgtest

import (
	"context"
	"strings"
	"testing"
	"time"
)

// What hangs is named: the test, and the statement for which it waits with the reason.
func TestStuckTestsAreNamed(t *testing.T) {
	t.Parallel()
	db := New(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	holder, waiter, look := db.Connect(t), db.Connect(t), db.Connect(t)
	if _, err := holder.Exec(ctx, `BEGIN; LOCK TABLE seeded`); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := waiter.Exec(ctx, `UPDATE seeded SET n = 9`)
		ended <- err
	}()
	Eventually(t, 30*time.Second, "the statement waits", func() (waits bool) {
		_ = look.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'UPDATE seeded%' AND wait_event_type = 'Lock')`).Scan(&waits)
		return waits
	})
	var told strings.Builder
	report(&told)
	for _, want := range []string{"TestStuckTestsAreNamed", "stuck_test.go:", "waits for Lock relation held by {", "UPDATE seeded SET n = 9"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("the report does not contain %q:\n%s", want, told.String())
		}
	}
	if _, err := holder.Exec(ctx, `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil { // ctx ends the wait
		t.Error(err)
	}
}
