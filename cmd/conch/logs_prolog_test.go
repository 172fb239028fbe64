//go:build unix

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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

// B22: all that users of BBSvx do is a command: a log with the flag unknown, a file that was loaded by asserta/1, goals, clauses, questions, what has changed.
func TestAnOntologyByItsCommands(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, ontology, 3, "n1", "n2", "n3")
	member, follower := s.all[0], s.all[2]
	conch(t, "log", "create", "flags", "--machine", "prolog", "--unknown", "fail", "--members", "n1", "--lease", "1s", "--node", member.api()).done(t)
	pgtest.Eventually(t, longPatience, "all have the log", func() bool { return member.logOf().State == "running" && follower.logOf().State == "running" })
	file := filepath.Join(t.TempDir(), "root.pl")
	if err := os.WriteFile(file, []byte("isa(thing, thing).\nisa(X, Y) :- isa(X, Z), isa(Z, Y), X \\= Z, Z \\= Y.\nisa(animal, thing).\nisa(rabbit, animal).\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   *machine
		args []string
		says string
		code int
	}{
		{follower, []string{"consult", "flags", file, "--reverse"}, `{"clauses":4,"predicates":1}`, 0},
		{follower, []string{"goal", "flags", "isa(rabbit, X)"}, "X = animal.\n", 0},
		{member, []string{"goal", "flags", "once(isa(rabbit, thing))."}, "true.\n", 0},
		{member, []string{"goal", "flags", "isa(rabbit, stone)"}, "; isa/2 was called ", 1},
		{member, []string{"goal", "flags", "nowhere(X)"}, "false.\n", 1},
		{member, []string{"goal", "flags", "X is foo + 1"}, "error: type_error(evaluable,foo/0) in (is)/2", 1},
		{member, []string{"goal", "flags", "p("}, "bad goal: line 1, column 3: ", 1},
		{follower, []string{"goal", "flags", "X = vec3(1, 2.5, Y), write(hello)"}, "hello\nX = vec3(1,2.5,_A), Y = _A.\n", 0},
		{follower, []string{"goal", "flags", "assertz(at(bunny, vec3(1, 2, 3)))"}, "true.\n", 0},
		{follower, []string{"goal", "flags", "retract(at(bunny, P)), assertz(at(bunny, home))"}, "P = vec3(1,2,3).\n", 0},
		{member, []string{"tail", "flags"}, "    - at(bunny,vec3(1,2,3)).\n    + at(bunny,home).\n", 0},
		{follower, []string{"listing", "flags", "at/2", "--fresh"}, "at(bunny,home).\n", 0},
		{member, []string{"listing", "flags", "nobody/7"}, "there is no predicate nobody/7", 2},
		{follower, []string{"query", "flags", `{"goal":"isa(rabbit, X)","limit":1,"offset":1}`, "--fresh"}, `{"solutions":[{"X":"thing"}],"more":true}`, 0},
		{follower, []string{"query", "flags", `{"goal":"isa(rabbit, X)","limit":1}`, "--json"}, `"as_of"`, 0},
		{member, []string{"query", "flags", `{"goal":"assertz(p(1))"}`}, "submit it as a goal", 2},
	} {
		out, code := logCall(c.at, c.args...)
		if !strings.Contains(out, c.says) || code != c.code {
			t.Errorf("conch log %q: exit code %d, %q; want %d, %q", c.args, code, out, c.code, c.says)
		}
	}
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
