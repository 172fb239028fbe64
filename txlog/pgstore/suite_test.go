package pgstore_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/internal/authoritytest"
	"github.com/conchhq/conch/txlog/pgstore"
)

// room is a database with a log, and its members, each behind a line of its own.
type room struct {
	t       *testing.T
	conn    *pgx.Conn // of the election
	members map[string]*member
}

type member struct {
	line  *tcpproxy.Proxy
	cfg   pg.Config
	db    *pgstore.Database
	node  *node
	kept  []txlog.Record
	upto  uint64
	cut   bool
	yield func()
}

func newRoom(t *testing.T, g txlog.Genesis) authoritytest.Room {
	t.Helper()
	db := pgtest.New(t)
	created(t, db.Config())
	if g.ID() != genesis.ID() {
		t.Fatal("the suite has another log than these tests")
	}
	r := &room{t: t, conn: db.Connect(t), members: map[string]*member{}}
	for _, name := range authoritytest.Names {
		line, url := db.Proxy(t)
		m := &member{line: line, cfg: through(url)}
		r.members[name] = m
		t.Cleanup(m.line.Heal)
	}
	return r
}

func (r *room) Start(name string) (authority.Authority, []txlog.Record, uint64) {
	m := r.members[name]
	r.t.Cleanup(func() {
		if r.t.Failed() && m.node != nil {
			r.t.Log("troubles of", name, m.node.troubled())
		}
	})
	if m.db == nil {
		m.db = opened(r.t, m.cfg)
	}
	m.node = follows(r.t, m.db, poll, slices.Clone(m.kept)...)
	return m.node, m.kept, m.upto
}

func (r *room) Crash(name string) {
	m := r.members[name]
	m.node.stop()
	receive(r.t, m.node.ended)
	m.kept, m.upto = m.node.knows()
	m.node, m.yield = nil, nil
}

// Lead is the election: it tells those that it reaches.
func (r *room) Lead(name string) {
	if r.members[name].cut {
		return
	}
	for _, m := range r.members {
		if m.yield != nil && !m.cut {
			m.yield()
			m.yield = nil
		}
	}
	_, r.members[name].yield = r.members[name].node.tries(minted(r.t, r.conn))
}

func (r *room) Part(names ...string) {
	for name, m := range r.members {
		if m.cut = slices.Contains(names, name); m.cut {
			m.line.Blackhole(tcpproxy.Both)
		} else {
			m.line.Heal()
		}
	}
}

func (r *room) Facts(name string) []authority.Fact { return r.members[name].node.took() }

func TestAuthority(t *testing.T) {
	t.Parallel()
	authoritytest.Exercise(t, newRoom)
}
