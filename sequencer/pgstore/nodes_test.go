package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/grouptest"
	"github.com/conchhq/conch/sequencer/ledger"
)

// pays hands in the intents of a group, and returns them by their keys.
type pays struct {
	*grouptest.Group
	t   *testing.T
	ctx context.Context //nolint:containedctx // of the test
	all map[string]ledger.Intent
}

func (p *pays) pay(i int) {
	p.t.Helper()
	p.hand(i%len(p.Members), fmt.Sprint(i), payment(i))
}

func payment(i int) string {
	return fmt.Sprintf(`{"pay": {"from": "office", "to": "desk-%d", "amount": %d}}`, i%3, 1+i%7)
}

func (p *pays) hand(member int, key, request string) {
	p.t.Helper()
	in, err := p.Members[member].Submit(p.ctx, key, request)
	if err != nil {
		p.t.Fatal(err)
	}
	p.all[key] = in
}

// end waits for all payments, and counts what has landed.
func (p *pays) end(payments int) {
	p.t.Helper()
	for i := range payments {
		key := fmt.Sprint(i)
		if err := p.Members[i%len(p.Members)].Confirmed(p.ctx, key, p.all[key]); err != nil {
			p.t.Fatal(err)
		}
	}
	if n := p.Taken(); n != 1+payments {
		p.t.Errorf("the ledger has taken %d entries, want %d", n, 1+payments)
	}
}

// I1, I2, P38: the servers end connections of the nodes in the middle of everything, and nodes are stopped. Every intent
// ends, and lands once.
func TestNodesWhoseConnectionsEnd(t *testing.T) {
	t.Parallel()
	const payments = 40
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var databases []*pgtest.DB
	g := grouptest.NewGroup(t, 5, func(int) grouptest.Begin {
		db := pgtest.New(t)
		databases = append(databases, db)
		return beginning(opened(t, db.Config()), 1)
	})
	p := &pays{g, t, ctx, map[string]ledger.Intent{}}
	for _, m := range g.Members {
		m.Start(ctx)
	}
	p.hand(0, "funds", `{"issue": {"to": "office", "amount": 1000}}`)
	admin, ended := databases[0].Connect(t), 0
	for i := range payments {
		p.pay(i)
		var n int // one database after the other ends what its node has under way
		err := admin.QueryRow(ctx, `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()`,
			databases[(i+1)%5].Name).Scan(&n)
		if ended += n; err != nil {
			t.Fatal(err)
		}
		if i%12 == 11 {
			victim := g.Members[(i/12)%5]
			victim.Halt()
			victim.Start(ctx)
		}
	}
	p.end(payments)
	if ended < payments/2 {
		t.Errorf("%d connections were ended", ended)
	}
}

// frozen is the store of a node that freezes when it is about to store a grant.
type frozen struct {
	sequencer.Store
	at   chan struct{} // closed when it freezes
	thaw chan struct{} // closed when it goes on
	once sync.Once
	said chan error // what the database says to each write after that
}

func (f *frozen) Write(ctx context.Context, changes []core.Change) ([]core.Twice, error) {
	for _, c := range changes {
		if c.Sender != nil && len(c.Sender.Grants) > 0 {
			f.once.Do(func() { close(f.at) })
		}
	}
	select {
	case <-f.at:
	default:
		return f.Store.Write(ctx, changes)
	}
	select {
	case <-f.thaw:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	twice, err := f.Store.Write(ctx, changes)
	select {
	case f.said <- err:
	default:
	}
	return twice, err
}

// signing counts what is signed.
type signing struct {
	sequencer.Keys
	n atomic.Int64
}

func (s *signing) Sign(h ledger.Hash) ([]byte, error) {
	s.n.Add(1)
	return s.Keys.Sign(h)
}

// S9, P38, P39: a node freezes when it is about to store a grant. Its standby takes over the leadership, and goes on with the
// same rows and intents. When the first one thaws, the database refuses its writes, and it signs nothing.
func TestAStandbyTakesOver(t *testing.T) {
	t.Parallel()
	const payments = 20
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var pair *pgtest.DB
	epoch := atomic.Int64{}
	epoch.Store(1)
	ice := &frozen{at: make(chan struct{}), thaw: make(chan struct{}), said: make(chan error, 1)}
	g := grouptest.NewGroup(t, 3, func(member int) grouptest.Begin {
		db := pgtest.New(t)
		if member != 1 {
			return beginning(opened(t, db.Config()), 1)
		}
		pair = db
		return func(ctx context.Context) sequencer.Store {
			s := beginning(opened(t, db.Config()), epoch.Load())(ctx)
			if epoch.Load() == 1 {
				ice.Store = s
				return ice
			}
			return s
		}
	})
	keys := &signing{Keys: g.Members[1].Keys}
	g.Members[1].Keys = keys
	p := &pays{g, t, ctx, map[string]ledger.Intent{}}
	for _, m := range g.Members {
		m.Start(ctx)
	}
	p.hand(0, "funds", `{"issue": {"to": "office", "amount": 1000}}`)
	for i := range payments / 2 {
		if i%3 == 1 { // those of the node that freezes may be stored and not answered
			_, _ = g.Members[1].Submit(until(ctx, ice.at), fmt.Sprint(i), payment(i))
			continue
		}
		p.pay(i)
	}
	receive(t, ice.at)

	stop := g.Members[1].Leave()
	defer stop()
	g.Members[1].Keys = keys.Keys // the standby has the same keys, which are not counted
	run(t, pair.Connect(t), `SELECT public.mint(2)`)
	epoch.Store(2)
	g.Members[1].Start(ctx)
	for i := range payments {
		p.pay(i) // again, what was handed in before
	}
	p.end(payments)

	before := keys.n.Load()
	close(ice.thaw)
	if err := receive(t, ice.said); !errors.Is(err, fence.ErrStale) || !errors.Is(err, sequencer.ErrOver) {
		t.Errorf("the late write of the frozen node: %v, want ErrStale and ErrOver", err)
	}
	stop() // it has nothing to write any more
	if n := keys.n.Load() - before; n > 0 {
		t.Errorf("the frozen node has signed %d hashes after it thawed", n)
	}
	var lost int
	err := pair.Connect(t).QueryRow(ctx, `SELECT count(*) FROM conch.sequencer_grants g WHERE NOT EXISTS (SELECT FROM conch.sequencer_attempts a WHERE a.contract = g.contract AND a.assembled = g.assembled)`).Scan(&lost)
	if err != nil || lost > 0 {
		t.Errorf("%d grants without contents, error %v", lost, err)
	}
}

// until is a context that ends with a channel that is closed.
func until(ctx context.Context, closed <-chan struct{}) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-closed:
		case <-ctx.Done():
		}
	}()
	return ctx
}

// P38: the server is killed while nodes write to it. What was answered is there after its recovery, and the nodes go on.
func TestTheServerIsKilled(t *testing.T) {
	t.Parallel()
	const payments = 30
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	server := pgtest.Own(t, postmaster.Config{})
	admin := pgtest.Connect(t, pg.Config{URL: server.URL("postgres")})
	member := 0
	g := grouptest.NewGroup(t, 3, func(int) grouptest.Begin {
		member++
		name := fmt.Sprintf("member%d", member)
		run(t, admin, `CREATE DATABASE `+name)
		cfg := pg.Config{URL: server.URL(name)}
		if err := made(ctx, pgtest.Connect(t, cfg)); err != nil {
			t.Fatal(err)
		}
		return beginning(opened(t, cfg), 1)
	})
	p := &pays{g, t, ctx, map[string]ledger.Intent{}}
	for _, m := range g.Members {
		m.Start(ctx)
	}
	p.hand(0, "funds", `{"issue": {"to": "office", "amount": 1000}}`)
	for i := range payments {
		p.pay(i)
		if i%10 == 9 {
			server.Kill9()
			if err := server.StartAgain(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.end(payments)
}
