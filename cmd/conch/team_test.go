//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
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

// crowd requests transactions from any node that answers. Its callers repeat a request that is
// not answered, with the same key.
type crowd struct {
	t    testing.TB
	apis func() []string // base URLs of the nodes that may answer now

	mu      sync.Mutex
	asked   map[string]string // deeds of acknowledged requests, by ID
	last    time.Time         // when the latest acknowledged request began
	refused map[int]int       // failed requests by HTTP status; 0: no answer
}

func newCrowd(t testing.TB, apis func() []string) *crowd {
	return &crowd{t: t, apis: apis, asked: map[string]string{}, refused: map[int]int{}}
}

// numbered returns the body of a request for transaction n, and its deed.
func numbered(n int) (body, does string) {
	data := fmt.Sprintf("0x%08x", n+1)
	return fmt.Sprintf(`{"account":"payer","to":%q,"value":"1","data":%q,"idempotency_key":%q}`, nobodysAddress, data, data), deed(nobodysAddress, "1", data)
}

// wants requests transactions from one number to below another, by several callers at once, and
// returns when all are acknowledged.
func (c *crowd) wants(from, to int) {
	c.t.Helper()
	const callers = 8
	var asking sync.WaitGroup
	for caller := range callers {
		asking.Go(func() {
			for n := from + caller; n < to; n += callers {
				if !c.insists(n) {
					return
				}
			}
		})
	}
	asking.Wait()
}

// insists asks one node after another for a transaction until it is acknowledged.
func (c *crowd) insists(n int) (answered bool) {
	body, does := numbered(n)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.NewTimer(longPatience)
	defer deadline.Stop()
	for turn := rand.Int(); ; turn++ {
		apis := c.apis()
		status, id, began := 0, "", time.Now()
		if len(apis) > 0 {
			status, id = ask(apis[turn%len(apis)], body)
		}
		c.mu.Lock()
		if status == http.StatusAccepted {
			if before, known := c.asked[id]; known && before != does {
				c.t.Errorf("%s was acknowledged for two calls", id)
			}
			c.asked[id] = does
			if began.After(c.last) {
				c.last = began
			}
			c.mu.Unlock()
			return true
		}
		c.refused[status]++
		c.mu.Unlock()
		select {
		case <-poll.C:
		case <-c.t.Context().Done():
			return false // the test is over, and says why
		case <-deadline.C:
			c.t.Errorf("transaction %d was never acknowledged", n)
			return false
		}
	}
}

// acknowledged returns all deeds acknowledged so far, by ID.
func (c *crowd) acknowledged() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.asked)
}

// asksInVain reports whether no request that began after since was acknowledged.
func (c *crowd) asksInVain(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.last.After(since)
}

// impatient does not wait for a stopped node.
var impatient = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// ask returns the status and, if the request was accepted, the ID; 0 for no answer.
func ask(api, body string) (status int, id string) {
	answer, err := impatient.Post(api+"/v1/transactions", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	var out struct{ ID string }
	if err != nil || json.Unmarshal(text, &out) != nil {
		return 0, ""
	}
	return answer.StatusCode, out.ID
}

// The database is killed and comes back under load: nothing is acknowledged meanwhile, and what
// was acknowledged before or after is done once. (S21)
func TestTheDatabaseIsKilledUnderLoad(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	server, chain := pgtest.Own(t, postmaster.Config{}), startDevnode(t)
	db := server.URL("postgres")
	conch(t, "--db", db, "migrate", "up").done(t)
	m := newTeam(t, db, chain, "n1", "n2")
	for round, gone := range []func(){
		func() { server.Kill9() },
		func() { _ = server.RestartFast(t.Context()) },
		func() { // and the leader with it
			leader, _ := m.leader(0)
			server.Kill9()
			m.down(leader, syscall.SIGKILL)
			m.back(leader)
		},
	} {
		m.leader(0)
		var asking sync.WaitGroup
		t.Cleanup(asking.Wait)
		asking.Go(func() { m.wants(round*60, round*60+60) })
		pgtest.Eventually(t, patience, "some are acknowledged", func() bool { return len(m.acknowledged()) >= round*60+20 })
		gone()
		if round != 1 {
			died, accepted := time.Now(), false
			body, _ := numbered(round*60 + 59) // asked by this test: the crowd may be done
			pgtest.Eventually(t, patience, "every node rejects intents", func() bool {
				answers := m.answers(body)
				accepted = accepted || slices.Contains(answers, http.StatusAccepted)
				return len(answers) == len(m.nodes) && !slices.ContainsFunc(answers, func(status int) bool { return status != http.StatusServiceUnavailable })
			})
			if accepted || !m.asksInVain(died) {
				t.Error("a node accepted an intent without a database, want none")
			}
			if err := server.StartAgain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		asking.Wait()
	}
	judge(t, chain, db, m.acknowledged())
}

// answers returns the status of each node's answer to one request.
func (m *team) answers(body string) (statuses []int) {
	for _, api := range m.up() {
		status, _ := ask(api, body)
		statuses = append(statuses, status)
	}
	return statuses
}

// again kills the chain's node, as a power cut does, and starts it with an older head from disk.
func (d *devnode) again(args ...string) {
	d.t.Helper()
	var before uint64
	pgtest.Eventually(d.t, patience, "there are blocks to lose", func() bool {
		before = number(d.t, d.call("eth_blockNumber"))
		return before > 2
	})
	d.life.Kill()
	d.life.Wait(patience)
	next := startDevnode(d.t, append(args, "--listen", strings.TrimPrefix(d.url, "http://"))...)
	d.life = next.life
	if now := number(d.t, d.call("eth_blockNumber")); now >= before {
		d.t.Errorf("after the restart the head is block %d, want one below %d", now, before)
	}
}

// settles waits until all acknowledged intents have ended.
func (m *team) settles() {
	m.t.Helper()
	tables := readTables(m.t, m.db)
	pgtest.Eventually(m.t, patience, "everything is final", func() bool { return openIntents(m.t, tables) == 0 })
}

// The chain's node and the leader are killed. The chain comes back shorter, with or without its
// pool. The successor sends the stored bytes of what is missing again, even of final ones. (S20)
func TestLeaderAndChainKilled(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for name, journal := range map[string]string{"the pool is lost": "--journal=false", "the pool comes back": "--journal=true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--datadir", t.TempDir(), journal}
			db, chain := migrated(t), startDevnode(t, args...)
			m := newTeam(t, db.URL, chain, "n1", "n2")
			each := runtest.ByDay(20, 60)
			for round := range 3 {
				leader, epoch := m.leader(0)
				if round == 2 {
					m.settles()
				}
				var asking sync.WaitGroup
				t.Cleanup(asking.Wait)
				asking.Go(func() { m.wants(round*each, round*each+each) })
				pgtest.Eventually(t, patience, "some are acknowledged", func() bool { return len(m.acknowledged()) >= round*each+each/2 })
				if round == 1 {
					m.down(leader, syscall.SIGKILL)
					chain.again(args...)
				} else {
					chain.again(args...)
					m.down(leader, syscall.SIGKILL)
				}
				m.leader(epoch)
				m.back(leader)
				asking.Wait()
			}
			judge(t, chain, db.URL, m.acknowledged())
		})
	}
}
