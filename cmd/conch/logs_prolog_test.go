//go:build unix

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

const ontology = "[[logs]]\nnamespace = \"flags\"\nmachine = \"prolog\"\n"

// B19, B20, B22: a hundred clients count together by goals in Prolog, while two leaders are killed, one after the other. Each goal counts once, and none is
// lost. By day they count to a thousand.
func TestACounterInPrologIsExact(t *testing.T) {
	t.Parallel()
	const clients = 100
	each := runtest.ByDay(10, 100)
	s := newSiteWith(t, ontology, 3, "n1", "n2", "n3")
	s.makes(s.all[0], "n1,n2,n3")
	s.all[0].goal("assertz(counter(0))")
	c := newChronicle(t, s)
	var counted atomic.Int64
	var asked sync.WaitGroup
	t.Cleanup(asked.Wait) // also if the test fails before
	for client := range clients {
		asked.Go(func() {
			for n := range each {
				if !c.counts(client, n) {
					return
				}
				counted.Add(1)
			}
		})
	}
	for _, at := range []int{1, 2} {
		pgtest.Eventually(t, longPatience, "they count", func() bool { return counted.Load() >= int64(at*clients*each/3) })
		leader := s.leads("")
		s.kill(leader)
		s.leads(leader.name)
		s.start(leader)
		c.found(s, slices.Index(s.all, leader))
		before := counted.Load()
		pgtest.Eventually(t, longPatience, "they go on", func() bool { return counted.Load() > before || before == int64(clients*each) })
	}
	asked.Wait()
	s.equal()
	for _, m := range s.all {
		out, code := logCall(m, "query", "flags", `{"goal":"counter(N)"}`)
		if want := fmt.Sprintf(`{"solutions":[{"N":"%d"}]`, clients*each); code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("%s has %d %s, want %s", m.name, code, out, want)
		}
	}
	t.Logf("%d goals, %d of them asked for more than once", counted.Load(), c.again)
}

// counts has a client count once, at whichever node answers.
func (c *chronicle) counts(client, n int) bool {
	c.mu.Lock()
	since := c.since
	c.mu.Unlock()
	id := fmt.Sprintf("c%d-%d", client, n)
	body := fmt.Appendf(nil, `{"goal_id":%q,"since":%d,"goal":"retract(counter(N)), M is N + 1, assertz(counter(M))"}`, id, since)
	for tries := 0; c.t.Context().Err() == nil; tries++ {
		heard, known, err := c.submits((client+tries)%len(c.apis), id, body)
		switch {
		case err != nil, heard.Fault != "":
			c.t.Errorf("%s: %v %s", id, err, heard.Fault)
			return false
		case known:
			c.mu.Lock()
			c.again += min(tries, 1)
			c.mu.Unlock()
			return true
		}
		_ = pause.For(c.t.Context(), 50*time.Millisecond)
	}
	return false
}

func (c *chronicle) submits(at int, id string, body []byte) (reply, bool, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *c.apis[at].Load()+"/goals", bytes.NewReader(body))
	if err != nil {
		return reply{}, false, err
	}
	return c.sends(req, id)
}
