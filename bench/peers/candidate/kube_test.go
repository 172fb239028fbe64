//go:build !one || clientgo

package candidate

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// client-go's release has a limit, and it expects one for each request: over a silent line no request
// may take longer, whatever its context.
func TestARequestOverASilentLineEnds(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // the kernel accepts connections, and nobody answers
	pool, err := pgxpool.New(t.Context(), "postgres://x@"+listener.Addr().String()+"/x?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	var record resourcelock.LeaderElectionRecord
	for name, ask := range map[string]func(context.Context, *rowLock) error{
		"Get":    func(ctx context.Context, l *rowLock) error { _, _, err := l.Get(ctx); return err },
		"Create": func(ctx context.Context, l *rowLock) error { return l.Create(ctx, record) },
		"Update": func(ctx context.Context, l *rowLock) error { return l.Update(ctx, record) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := ask(ctx, &rowLock{pool: pool, id: "one", patience: 50 * time.Millisecond}); err == nil || ctx.Err() != nil {
				t.Errorf("got %v while the caller's context has %v, want a timeout of its own", err, ctx.Err())
			}
		})
	}
}

func TestRequestsTakeLessThanTheDeadline(t *testing.T) {
	t.Parallel()
	for deadline, want := range map[time.Duration]time.Duration{10 * time.Second: 5 * time.Second, 1300 * time.Millisecond: time.Second} {
		if got := requestTimeout(deadline); got != want {
			t.Errorf("with a deadline of %s a request has %s, want %s", deadline, got, want)
		}
	}
}
