package pgraw

import "testing"

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, with, target, through string }{
		{
			"postgres://me:secret@db.example:6000/app?sslmode=disable", "postgres://me:secret@db.example:6000/b?sslmode=disable",
			"db.example:6000", "postgres://me:secret@127.0.0.1:1/app?sslmode=disable",
		},
		{
			"postgres://me@/app?host=%2Ftmp%2Fx&port=5433", "postgres://me@/b?host=%2Ftmp%2Fx&port=5433",
			"/tmp/x/.s.PGSQL.5433", "postgres://me@127.0.0.1:1/app?sslmode=disable",
		},
		{
			"host=::1 port=5432 user=me dbname=app sslmode=require", "host=::1 port=5432 user=me dbname=app sslmode=require dbname=b",
			"[::1]:5432", "postgres://me@127.0.0.1:1/app?sslmode=require",
		},
	} {
		if got := WithDatabase(c.url, "b"); got != c.with {
			t.Errorf("another database: %q, want %q", got, c.with)
		}
		if got, err := Target(c.url); err != nil || got != c.target {
			t.Errorf("the target is %q, %v, want %q", got, err, c.target)
		}
		if got, err := Through(c.url, "127.0.0.1:1"); err != nil || got != c.through {
			t.Errorf("through the proxy: %q, %v, want %q", got, err, c.through)
		}
	}
}
