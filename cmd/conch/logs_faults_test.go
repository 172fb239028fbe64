//go:build unix

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog/kv/kvtest"
)

// B18, B20, new-disk-new-member: while clients of five processes put, add, compare and read, one trouble comes after the other: a process is killed,
// cut off or frozen, a store is removed or put back to an older state while the others are there, and the members change. What the clients were told, by
// whichever node and after however many requests, has one order, which an existing checker finds, and in the end all copies are equal. By day the leader
// is killed once; each night has all; CONCH_LOG_FAULTS says for how long, such as 1h.
func TestALogUnderEveryFault(t *testing.T) {
	t.Parallel()
	lasts, err := time.ParseDuration(os.Getenv("CONCH_LOG_FAULTS"))
	if err != nil && runtest.Nightly() {
		lasts = 2 * time.Minute
	}
	s := newSiteWith(t, flags, 3, "n1", "n2", "n3", "n4", "n5")
	s.makes(s.all[0], "n1,n2,n3")
	h := &hurts{machines: s, chance: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 43)), members: []string{"n1", "n2", "n3"}}
	end, done := h.watched()
	troubles := []func(*machine){h.kills, h.cuts, h.freezes, h.wipes, h.restores, h.changes}
	if lasts == 0 {
		troubles = []func(*machine){func(*machine) { h.kills(h.leads("")) }}
	}
	h.c.goesOn(30)
	began := time.Now()
	for round := 0; round == 0 || time.Since(began) < lasts; round++ {
		for _, i := range h.chance.Perm(len(troubles)) { // all of them, in another order each time
			troubles[i](s.all[h.chance.IntN(len(s.all))])
			h.c.goesOn(30)
		}
		t.Logf("%v: %d rounds of troubles", time.Since(began).Round(time.Second), round+1)
	}
	close(end)
	<-done
	s.equal()
	if err := kvtest.Check(h.c.all, time.Minute); err != nil {
		t.Fatalf("of %d operations: %v", len(h.c.all), err)
	}
	t.Logf("%d operations, %d of them asked for more than once", len(h.c.all), h.c.again)
	i := slices.IndexFunc(h.c.all, func(o kvtest.Operation) bool {
		return o.Do.Op == "add" && o.Got.Fault == "" && o.Return != kvtest.Never
	})
	h.c.all[i].Got.Result = `{"value":1000000}`
	if err := kvtest.Check(h.c.all, time.Minute); !errors.Is(err, kvtest.ErrOrder) {
		t.Errorf("a history with a wrong answer: %v", err)
	}
}

// hurts troubles the machines of a log.
type hurts struct {
	*machines
	c       *chronicle
	chance  *rand.Rand
	members []string
}

// watched starts the clients.
func (h *hurts) watched() (end chan<- struct{}, done <-chan struct{}) {
	h.c = newChronicle(h.t, h.machines)
	h.c.turns = true
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		h.c.run(stop, 6)
	}()
	h.t.Cleanup(func() { // also if the test fails before
		select {
		case <-stop:
		default:
			close(stop)
		}
	})
	return stop, over
}

func (h *hurts) rests(least, most time.Duration) {
	_ = pause.For(h.t.Context(), least+time.Duration(h.chance.Int64N(int64(most-least))))
}

// back starts a machine, and waits until it has its part again: nothing is lost while all others are there.
func (h *hurts) back(m *machine) {
	h.t.Helper()
	h.start(m)
	h.c.found(h.machines, slices.Index(h.all, m))
	pgtest.Eventually(h.t, longPatience, m.name+" has its part again", func() bool {
		now := m.logOf()
		return now.State == "running" && now.Position != nil && now.Decides == slices.Contains(h.members, m.name)
	})
	h.reaches(m, h.index(h.but(m)[0]))
}

func (h *hurts) kills(m *machine) {
	h.kill(m)
	h.rests(0, 2*time.Second)
	h.back(m)
}

// cuts silences the ways to some machines: those that others have opened.
func (h *hurts) cuts(*machine) {
	for _, i := range h.chance.Perm(len(h.all))[:1+h.chance.IntN(3)] {
		h.all[i].front.Blackhole(tcpproxy.Both)
	}
	h.rests(time.Second, 6*time.Second)
	for _, m := range h.all {
		m.front.Heal()
	}
}

func (h *hurts) freezes(m *machine) {
	m.life.Signal(syscall.SIGSTOP)
	h.rests(time.Second, 5*time.Second)
	m.life.Signal(syscall.SIGCONT)
}

func (m *machine) storeFile() string { return filepath.Join(m.dir, "data", "logs", "flags.log") }

func (h *hurts) wipes(m *machine) {
	h.kill(m)
	if err := os.Remove(m.storeFile()); err != nil {
		h.t.Fatal(err)
	}
	h.back(m)
}

// restores puts a machine's store back. All others have what it has forgotten.
func (h *hurts) restores(m *machine) {
	h.kill(m)
	backup, err := os.ReadFile(m.storeFile())
	if err != nil {
		h.t.Fatal(err)
	}
	h.back(m)
	h.c.goesOn(20)
	for _, other := range h.but(m) { // else one that is behind may elect it
		h.reaches(other, h.index(m))
	}
	h.kill(m)
	if err := os.WriteFile(m.storeFile(), backup, 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.back(m)
	aside, err := filepath.Glob(m.storeFile() + ".aside-*") // a person has read why, and takes them away: a node makes no sixth store beside five of them
	if err != nil {
		h.t.Fatal(err)
	}
	for _, old := range aside {
		if err := os.Remove(old); err != nil {
			h.t.Fatal(err)
		}
	}
}

// index returns where a machine's copy is. After a trouble it may be about to begin.
func (h *hurts) index(m *machine) (at uint64) {
	h.t.Helper()
	pgtest.Eventually(h.t, longPatience, m.name+" has a copy", func() bool {
		p := m.logOf().Position
		if p != nil {
			at = p.Index
		}
		return p != nil
	})
	return at
}

func (h *hurts) reaches(m *machine, index uint64) {
	h.t.Helper()
	pgtest.Eventually(h.t, longPatience, fmt.Sprintf("%s is at %d", m.name, index), func() bool {
		now := m.logOf()
		return now.Position != nil && now.Position.Index >= index
	})
}

// changes makes three or five of them the members. What is refused for a moment is asked for again.
func (h *hurts) changes(m *machine) {
	var names []string
	for _, i := range h.chance.Perm(len(h.all))[:3+2*h.chance.IntN(2)] {
		names = append(names, h.all[i].name)
	}
	pgtest.Eventually(h.t, longPatience, "the members are "+strings.Join(names, ", "), func() bool {
		_, code := logCall(m, "members", "flags", "--set", strings.Join(names, ","))
		return code == 0
	})
	h.members = names
	for _, m := range h.all {
		pgtest.Eventually(h.t, longPatience, m.name+" knows whether it decides", func() bool { return m.logOf().Decides == slices.Contains(names, m.name) })
	}
}

// chronicle is what clients were told.
type chronicle struct {
	t     *testing.T
	began time.Time
	turns bool                     // other keys every ten seconds: what one key was told in hours nobody can check
	apis  []atomic.Pointer[string] // of each machine, where it has answered last

	mu    sync.Mutex
	since uint64 // the newest entry of an answer
	all   []kvtest.Operation
	again int
}

func newChronicle(t *testing.T, s *machines) *chronicle {
	c := &chronicle{t: t, began: time.Now(), since: s.all[0].logOf().Position.Index, apis: make([]atomic.Pointer[string], len(s.all))}
	for i := range s.all {
		c.found(s, i)
	}
	return c
}

// run has clients ask until they are to stop.
func (c *chronicle) run(stop <-chan struct{}, many int) {
	var clients sync.WaitGroup
	for client := range many {
		clients.Go(func() { c.uses(stop, client) })
	}
	clients.Wait()
}

// found notes where a machine answers.
func (c *chronicle) found(s *machines, i int) {
	api := s.all[i].api() + "/v1/logs/flags"
	c.apis[i].Store(&api)
}

// goesOn waits until so many more operations have ended.
func (c *chronicle) goesOn(more int) {
	c.t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.all)
	}
	want := count() + more
	pgtest.Eventually(c.t, longPatience, "the clients are answered", func() bool { return count() >= want })
}

// uses has a client ask for one thing after the other until it is to stop. What it hears nothing of it asks again, with the same id and
// at the next machine.
func (c *chronicle) uses(stop <-chan struct{}, client int) {
	dice := rand.New(rand.NewPCG(uint64(client), 25))
	at := client
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		o := kvtest.Operation{Client: client, Do: drawn(dice), Call: int64(time.Since(c.began)), Return: kvtest.Never}
		if c.turns {
			o.Do.Key += fmt.Sprint(time.Since(c.began) / (10 * time.Second))
		}
		c.mu.Lock()
		since := c.since
		c.mu.Unlock()
		for tries := 0; ; tries++ {
			got, known, err := c.asks(at, fmt.Sprintf("c%d-%d", client, n), since, o.Do)
			if err != nil {
				c.t.Error(err)
				return
			}
			if known {
				o.Got, o.Return = got, int64(time.Since(c.began))
			}
			if c.mu.Lock(); known || c.t.Context().Err() != nil {
				c.all = append(c.all, o)
				c.again += min(tries, 1)
				c.mu.Unlock()
				break
			}
			c.mu.Unlock()
			at++
			_ = pause.For(c.t.Context(), 50*time.Millisecond)
		}
		_ = pause.For(c.t.Context(), 10*time.Millisecond)
	}
}

// drawn is what a client might ask for.
func drawn(dice *rand.Rand) kvtest.Do {
	d := kvtest.Do{Key: string(rune('a' + dice.IntN(2))), By: 1 + dice.Int64N(3), Value: fmt.Sprint(dice.IntN(3))}
	switch d.Op = []string{"put", "add", "add", "cas", "delete", "get", "get"}[dice.IntN(7)]; d.Op {
	case "cas":
		d.Expect = fmt.Sprint(dice.IntN(3))
	case "put":
	default:
		d.Value = ""
	}
	return d
}

// asks asks a machine, and reports whether it knows what became of it.
func (c *chronicle) asks(at int, id string, since uint64, d kvtest.Do) (got kvtest.Got, known bool, err error) {
	api := *c.apis[at%len(c.apis)].Load()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
	defer cancel()
	var req *http.Request
	if d.Op == "get" {
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, api+"/state?fresh=1&query="+url.QueryEscape(d.Query()), nil)
	} else {
		body := fmt.Appendf(nil, `{"goal_id":%q,"since":%d,"goal":%s}`, id, since, d.Goal())
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, api+"/goals", bytes.NewReader(body))
	}
	if err != nil {
		return got, false, err
	}
	heard, known, err := c.sends(req, fmt.Sprintf("%s %+v", id, d))
	if !known {
		return got, false, err
	}
	var text bytes.Buffer
	if raw := slices.Concat(heard.Result, heard.Answer); len(raw) > 0 {
		if err := json.Compact(&text, raw); err != nil {
			return got, false, err
		}
	}
	return kvtest.Got{Result: text.String(), Fault: heard.Fault}, true, nil
}

// reply is what a client hears.
type reply struct {
	Result, Answer json.RawMessage
	Fault, Detail  string
	Index          uint64
}

// sends sends a request, and reports whether the answer says what became of it.
func (c *chronicle) sends(req *http.Request, about string) (heard reply, known bool, err error) {
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return heard, false, nil // it is dead, or does not answer
	}
	defer func() { _ = res.Body.Close() }()
	switch err := json.NewDecoder(res.Body).Decode(&heard); {
	case err != nil, res.StatusCode == http.StatusServiceUnavailable, res.StatusCode == http.StatusTooManyRequests:
		return heard, false, nil
	case res.StatusCode != http.StatusOK:
		return heard, false, fmt.Errorf("%s: %s %s", about, res.Status, heard.Detail)
	}
	c.mu.Lock()
	c.since = max(c.since, heard.Index)
	c.mu.Unlock()
	return heard, true, nil
}
