//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

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
