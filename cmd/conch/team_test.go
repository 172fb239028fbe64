//go:build unix

package main_test

import (
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// team has several nodes that may send for the account, each with its own proxy to the chain's
// node, and the crowd that asks them.
type team struct {
	t       *testing.T
	db      string
	nodes   map[string]*daemon
	proxies map[string]*holdingProxy
	*crowd

	mu   sync.Mutex
	apis map[string]string // of the nodes that are up
}

// shortLease is for tests that kill many leaders, each of which has a successor after its lease.
// If a busy machine ends a term, that is only one more.
const shortLease = "[election]\nlease = \"1s\"\n"

func newTeam(t *testing.T, db string, chain *devnode, ids ...string) *team {
	t.Helper()
	m := &team{t: t, db: db, nodes: map[string]*daemon{}, proxies: map[string]*holdingProxy{}, apis: map[string]string{}}
	m.crowd = newCrowd(t, m.up)
	for _, id := range ids {
		m.proxies[id] = newHoldingProxy(t, chain, db)
		m.nodes[id] = senderAt(t, id, db, m.proxies[id].url, shortLease)
		m.serves(id, 1)
	}
	return m
}

// serves waits until a node has started a number of times.
func (m *team) serves(id string, starts int) {
	m.t.Helper()
	n := m.nodes[id]
	pgtest.Eventually(m.t, patience, id+" serves", func() bool { return n.count("serving the API") == starts })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.apis[id] = "http://" + n.value("serving the API", "address")
}

func (m *team) up() (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, api := range m.apis {
		all = append(all, api)
	}
	slices.Sort(all)
	return all
}

// down ends a node's process, if it has not ended yet.
func (m *team) down(id string, sig syscall.Signal) {
	m.t.Helper()
	m.mu.Lock()
	delete(m.apis, id)
	m.mu.Unlock()
	m.nodes[id].stop(sig)
}

// back starts a node again.
func (m *team) back(id string) {
	m.t.Helper()
	m.proxies[id].open()
	starts := m.nodes[id].count("serving the API")
	m.nodes[id].start()
	m.serves(id, starts+1)
}

// leader waits for a leader of the account with an epoch above after.
func (m *team) leader(after int64) (id string, epoch int64) {
	m.t.Helper()
	conn, err := pgx.Connect(m.t.Context(), m.db)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = conn.Close(m.t.Context()) }()
	pgtest.Eventually(m.t, patience, "the account has a new leader", func() bool {
		err := conn.QueryRow(m.t.Context(), `SELECT holder, epoch FROM conch.leadership WHERE scope = $1 AND NOT released`, accountScope).Scan(&id, &epoch)
		return err == nil && epoch > after && m.nodes[id].count("sending", "epoch", float64(epoch)) > 0
	})
	return id, epoch
}
