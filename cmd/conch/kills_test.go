//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// injuries happen to a leader while a crowd asks, which begin starts. Each returns when there is
// a successor and all nodes are back.
var injuries = map[string]func(m *team, leader string, epoch int64, begin func()){
	"killed before the bytes leave": func(m *team, _ string, epoch int64, begin func()) { m.ambush(epoch, false, begin) },
	"killed before the answer":      func(m *team, _ string, epoch int64, begin func()) { m.ambush(epoch, true, begin) },
	"killed somewhere": func(m *team, leader string, epoch int64, begin func()) {
		begin()
		m.down(leader, syscall.SIGKILL)
		m.leader(epoch)
		m.back(leader)
	},
	"all killed": func(m *team, _ string, epoch int64, begin func()) {
		begin()
		for id := range m.nodes {
			m.down(id, syscall.SIGKILL)
		}
		for id := range m.nodes {
			m.back(id)
		}
		m.leader(epoch)
	},
	"stopped for longer than its lease": func(m *team, leader string, epoch int64, begin func()) {
		begin()
		m.signal(leader, syscall.SIGSTOP)
		m.leader(epoch)
		m.signal(leader, syscall.SIGCONT)
	},
	"ended in order": func(m *team, leader string, epoch int64, begin func()) {
		begin()
		m.down(leader, syscall.SIGTERM)
		m.leader(epoch)
		m.back(leader)
	},
}

// ambush kills a leader whose request with signed bytes is held: the known one or, if its term
// ended before it sent anything, a successor.
func (m *team) ambush(epoch int64, after bool, begin func()) {
	m.t.Helper()
	stopped, over := map[string]<-chan struct{}{}, map[string]chan struct{}{}
	for id, proxy := range m.proxies {
		over[id] = make(chan struct{})
		stopped[id] = proxy.keepUntil(after, over[id])
	}
	begin()
	leader := ""
	pgtest.Eventually(m.t, patience, "signed bytes are on their way", func() bool {
		for id := range stopped {
			select {
			case <-stopped[id]:
				leader = id
			default:
			}
		}
		return leader != ""
	})
	for id, proxy := range m.proxies {
		if id != leader {
			proxy.open()
			close(over[id])
		}
	}
	if id, now := m.leader(0); id == leader {
		epoch = now
	}
	m.down(leader, syscall.SIGKILL)
	m.leader(epoch)
	m.back(leader)
}

func (m *team) signal(id string, sig syscall.Signal) {
	m.t.Helper()
	if err := m.nodes[id].cmd.Process.Signal(sig); err != nil {
		m.t.Fatal(err)
	}
}

// Leaders are killed, stopped and replaced under load. Every acknowledged intent is done once,
// however often its key is used. (S4, S15, S20)
func TestLeadersKilledUnderLoad(t *testing.T) {
	t.Parallel()
	seed, rounds := uint64(1), runtest.ByDay(len(injuries), 60)
	if runtest.Nightly() {
		seed = rand.Uint64()
	}
	if text := os.Getenv("CONCH_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("CONCH_SEED=%d go test -race -run %s ./cmd/conch", seed, t.Name())
	random := rand.New(rand.NewPCG(seed, 0))
	db, chain := migrated(t), startDevnode(t)
	m := newTeam(t, db.URL, chain, "n1", "n2", "n3")
	each := runtest.ByDay(20, 40)
	for round, kind := range plan(random, rounds) {
		leader, epoch := m.leader(0)
		var asking sync.WaitGroup
		t.Cleanup(asking.Wait)
		injuries[kind](m, leader, epoch, func() {
			for range 20 { // the same intent from many callers at once
				asking.Go(func() { m.insists(round * each) })
			}
			asking.Go(func() { m.wants(round*each+1, (round+1)*each) })
			some := round*each + random.IntN(each)
			pgtest.Eventually(t, patience, fmt.Sprintf("%d are acknowledged", some), func() bool { return len(m.acknowledged()) >= some })
		})
		asking.Wait()
	}
	judge(t, chain, db.URL, m.acknowledged())
	if got := len(m.acknowledged()); got != rounds*each {
		t.Errorf("%d intents were acknowledged, want %d", got, rounds*each)
	}
	t.Logf("%d rounds; refused: %v", rounds, m.refused)
}

// plan draws one injury per round, each kind about equally often.
func plan(random *rand.Rand, rounds int) (kinds []string) {
	all := slices.Sorted(maps.Keys(injuries))
	for len(kinds) < rounds {
		for _, i := range random.Perm(len(all)) {
			kinds = append(kinds, all[i])
		}
	}
	return kinds[:rounds]
}

// senderAt starts a node that reaches the chain at a URL. Pairs of instead replace text of its
// configuration, such as "finality = 2".
func senderAt(t *testing.T, id, db, url, more string, instead ...string) *daemon {
	t.Helper()
	n := prepareDaemon(t, id, db, "")
	n.write(fileOf(db, "listen = \"127.0.0.1:0\"\n"+strings.NewReplacer(instead...).Replace(accountAt(n, url, 1337, more))))
	return n.start()
}

// leads waits for a node to send for the account.
func (d *daemon) leads(epoch float64) *daemon {
	d.t.Helper()
	d.says("sending", "account", "payer", "epoch", epoch)
	return d
}

// happens waits for a channel to be closed.
func happens(t *testing.T, what string, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(patience):
		t.Fatalf("not within %v: %s", patience, what)
	}
}

// callersOf returns a crowd that asks one node.
func callersOf(t *testing.T, n *daemon) *crowd {
	t.Helper()
	api := n.api()
	return newCrowd(t, func() []string { return []string{api} })
}

// buries makes blocks until all accepted intents have ended.
func (d *devnode) buries(db string) {
	d.t.Helper()
	tables := readTables(d.t, db)
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	blocks := time.NewTicker(200 * time.Millisecond)
	defer blocks.Stop()
	for open := -1; open != 0; {
		select {
		case <-blocks.C:
			d.call("dev_mine")
		case <-deadline.C:
			d.t.Fatalf("%d intents are still open, want none", open)
		}
		open = openIntents(d.t, tables)
	}
}

// A leader is killed after it committed signed bytes and before it sent any: the successor sends
// the same bytes. (S15, S20, D6)
func TestKilledBetweenPersistAndSend(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	proxy := newHoldingProxy(t, chain, db.URL)
	stopped := proxy.keep(false)
	one := senderAt(t, "n1", db.URL, proxy.url, "").leads(1)
	many := callersOf(t, one)
	many.wants(0, 16) // as many as a leader signs before the endpoint has taken any
	happens(t, "signed bytes are on their way", stopped)
	pgtest.Eventually(t, patience, "all are signed and stored", func() bool { return len(attempts(t, db)) == 16 })
	one.stop(syscall.SIGKILL)
	stored := attempts(t, db)
	for nonce, hashes := range stored {
		if len(hashes) != 1 || chain.call("eth_getTransactionByHash", hashes[0]) != nil {
			t.Fatalf("nonce %d has the attempts %v, want one, which was not sent", nonce, hashes)
		}
	}
	if n := chain.call("eth_getTransactionCount", fundedAddress, "pending"); n != "0x0" {
		t.Fatalf("the chain's node has %v transactions, want none", n)
	}
	senderAt(t, "n2", db.URL, newHoldingProxy(t, chain, db.URL).url, "").leads(2)
	judge(t, chain, db.URL, many.acknowledged())
	for _, tx := range chain.history() {
		if want := stored[tx.Nonce]; want[0] != tx.Hash {
			t.Errorf("nonce %d: stored %v, but %s is in the chain, want the same", tx.Nonce, want, tx.Hash)
		}
	}
}

// While all conch nodes are down, the chain mines what they sent: the next node to start finds
// all of it and sends none again. (S20)
func TestMinedWhileDown(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0")
	one := sender(t, "n1", db.URL, chain).leads(1)
	two := sender(t, "n2", db.URL, chain)
	two.says("leadership following", "scope", accountScope)
	many := newCrowd(t, func() []string { return []string{one.api(), two.api()} })
	many.wants(0, 60)
	pgtest.Eventually(t, patience, "the node has all of them", func() bool {
		return chain.call("eth_getTransactionCount", fundedAddress, "pending") == "0x3c"
	})
	stored := attempts(t, db)
	two.stop(syscall.SIGKILL)
	one.stop(syscall.SIGKILL)
	for range 7 {
		chain.call("dev_mine")
	}
	proxy := newHoldingProxy(t, chain, db.URL)
	senderAt(t, "n3", db.URL, proxy.url, "").leads(2)
	chain.buries(db.URL)
	judge(t, chain, db.URL, many.acknowledged())
	if now := attempts(t, db); !maps.EqualFunc(now, stored, slices.Equal) {
		t.Errorf("stored attempts: got %v, want %v, with nothing signed again", now, stored)
	}
	if sent := proxy.passed(); len(sent) > 0 {
		t.Errorf("%d were sent again, want none", len(sent))
	}
}
