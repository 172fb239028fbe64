//go:build unix

package consortium

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pause"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// office is a node's API that says what a test wants.
type office struct {
	t      *testing.T
	answer func(method, path, body string) (int, any)
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	code, out := o.answer(r.Method, r.URL.Path, body.String())
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(out); err != nil {
		o.t.Error(err)
	}
}

func asking(t *testing.T, answer func(method, path, body string) (int, any)) *customers {
	t.Helper()
	server := httptest.NewServer(&office{t, answer})
	t.Cleanup(server.Close)
	o := &organisation{Player: stage.Player{Name: "north"}, account: "0xa0", api: newAPI(strings.TrimPrefix(server.URL, "http://"))}
	t.Cleanup(o.api.Close)
	return newCustomers(o, 1, "0xc0")
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A request is asked under one key until it is answered, and every ID that was acknowledged is kept for the judge.
func TestACustomerAsksUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	asked := 0
	c := asking(t, func(_, _, body string) (int, any) {
		asked++
		if !strings.Contains(body, `"idempotency_key":"k"`) {
			t.Errorf("it was asked for %s, want the same key", body)
		}
		if asked < 3 {
			return http.StatusServiceUnavailable, "away"
		}
		return http.StatusAccepted, map[string]string{"id": fmt.Sprint("id ", asked)}
	})
	c.request(bounded(t), "k", c.payload(0), 0, false)
	if len(c.requests) != 1 || len(c.requests[0].Acks) != 1 || c.requests[0].Acks[0].ID != "id 3" || len(c.requests[0].Asked) != 1 || c.requests[0].Asked[0].To.IsZero() || c.refused != nil {
		t.Errorf("got the requests %+v, refused %v; want one with the ID of the third answer", c.requests, c.refused)
	}
	if c.settled() {
		t.Error("it is settled before it has ended")
	}
	c.take(bounded(t), []transaction{{ID: "id 3", Key: "k", Fate: openFate}})
	if c.settled() || c.open() != 1 {
		t.Error("it is settled while it is open")
	}
	c.take(bounded(t), []transaction{{ID: "id 3", Key: "k", Fate: "confirmed"}})
	c.take(bounded(t), []transaction{{ID: "id 3", Key: "k", Fate: "reverted"}})
	if !c.settled() || c.first["id 3"].fate != "confirmed" {
		t.Errorf("the first end is %q, want the one that was told first", c.first["id 3"].fate)
	}
}

func TestARefusalEndsTheRun(t *testing.T) {
	t.Parallel()
	c := asking(t, func(_, _, _ string) (int, any) { return http.StatusUnprocessableEntity, "no" })
	c.request(bounded(t), "k", c.payload(0), 0, false)
	if err := c.seen().refused; err == nil || !strings.Contains(err.Error(), "k of north: a node refused: 422") {
		t.Errorf("got %v, want the refusal", err)
	}
}

// A cancellation is asked for again at each look, until the transaction has ended: a restarted node may have forgotten it.
func TestARegretIsRepeatedUntilItHasEnded(t *testing.T) {
	t.Parallel()
	var cancelled []string
	c := asking(t, func(_, path, _ string) (int, any) {
		if strings.HasSuffix(path, "/cancel") {
			cancelled = append(cancelled, path)
		}
		return http.StatusAccepted, map[string]string{"id": "7"}
	})
	c.request(bounded(t), "k", c.payload(hopeless), 0, true)
	for _, fate := range []string{openFate, openFate, "reverted", "reverted"} {
		c.take(bounded(t), []transaction{{ID: "7", Key: "k", Fate: fate}, {ID: "8", Key: "other", Fate: openFate}})
	}
	if len(cancelled) != 2 || cancelled[0] != "/v1/contracts/0xc0/transactions/7/cancel" {
		t.Errorf("cancelled %v, want transaction 7 twice", cancelled)
	}
}

// All pages of a list are read: a page that is left out would be lost intents.
func TestEachPageIsRead(t *testing.T) {
	t.Parallel()
	pages := 0
	c := asking(t, func(_, _, _ string) (int, any) {
		pages++
		page := map[string]any{"transactions": []transaction{{ID: fmt.Sprint(pages), Request: json.RawMessage(`{}`)}}}
		if pages < 3 {
			page["next_before"] = 10 - pages
		}
		return http.StatusOK, page
	})
	if found, err := c.of.api.list(bounded(t), "0xc0", true); err != nil || len(found) != 3 {
		t.Errorf("got %v, %v; want the transactions of three pages", found, err)
	}
}

// Only what crosses the cut is silent, in both ways.
func TestACutHasTwoSides(t *testing.T) {
	t.Parallel()
	s := &site{}
	if err := s.lay(); err != nil {
		t.Fatal(err)
	}
	l := s.links
	defer l.Close()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, name := range members {
		l.Lead(name, strings.TrimPrefix(server.URL, "http://"))
	}
	l.Cut(map[string]bool{"bank": true, "east": true})
	reaches := func(from, to string) bool {
		client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(bounded(t), http.MethodGet, "http://"+l.Way(from, to), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil
	}
	for _, c := range []struct {
		from, to string
		want     bool
	}{{"bank", "north", false}, {"north", "bank", false}, {"west", "east", false}, {"bank", "east", true}, {"north", "west", true}} {
		if got := reaches(c.from, c.to); got != c.want {
			t.Errorf("%s reaches %s: %t, want %t", c.from, c.to, got, c.want)
		}
	}
	l.Heal()
	if !reaches("bank", "north") {
		t.Error("healed, and bank does not reach north")
	}
}

// A certificate that has ended is judged by what stands between the nodes and by what they have said, and not before a minute; after its
// renewal each way counts on which something has stood since.
func TestTheEndOfACertificateIsJudged(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	begun := time.Now()
	begin := func() *supervisor {
		s := ran("west")
		s.screen = screen.New(screen.Config{Out: io.Discard})
		if err := s.lay(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.links.Close)
		s.expired = &ending{of: s.All[1], ends: begun, back: map[string]bool{}}
		return s
	}
	dial := func(s *supervisor, from, to string) {
		s.links.Lead(to, strings.TrimPrefix(server.URL, "http://"))
		line, err := new(net.Dialer).DialContext(bounded(t), "tcp", s.links.Way(from, to))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = line.Close() })
		for !slices.Contains(s.links.Standing(to, begun, time.Now()), from+" to "+to) {
			if err := pause.For(bounded(t), time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := func(s *supervisor, after time.Duration) {
		if err := s.lapse(begun.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	bad := begin()
	dial(bad, "bank", "north")
	dial(bad, "bank", "east") // is none of its own
	at(bad, judgedAfter-time.Second)
	if bad.endings != nil {
		t.Errorf("before its time it is judged: %+v", bad.endings)
	}
	at(bad, judgedAfter)
	at(bad, judgedAfter+backWithin-time.Second)
	if bad.expired == nil {
		t.Error("it is over before its node had its time to come back")
	}
	at(bad, judgedAfter+backWithin)
	good := begin()
	good.refusals.Add(1)
	good.All[1].ownEnd.Store(true)
	at(good, judgedAfter)
	good.expired.renewed = begun
	for _, name := range members {
		if name != "north" {
			dial(good, name, "north")
			dial(good, "north", name)
		}
	}
	at(good, steady+time.Minute)
	for s, want := range map[*supervisor]auditor.Ended{
		bad: {Node: "north", Standing: []string{"bank to north"}, Away: 8}, good: {Node: "north", Refused: true, Said: true},
	} {
		if s.expired != nil || len(s.endings) != 1 || !reflect.DeepEqual(s.endings[0], want) {
			t.Errorf("the judgement is %+v, want %+v", s.endings, want)
		}
	}
}

// ran returns a supervisor of organisations whose nodes run, of which the named one coordinates.
func ran(coordinator string) *supervisor {
	s := &supervisor{site: &site{Cast: &stage.Cast[*organisation]{}, cfg: Config{Duration: time.Minute, KillEvery: 5 * time.Second}}}
	for i, name := range members {
		o := &organisation{Player: stage.Player{Name: name, Process: &fleet.Process{}}}
		c := newCustomers(o, i, "0xc0")
		c.status, c.heard = status{Head: uint64(10 + i), Coordinator: coordinator}, time.Now()
		s.All, s.customers = append(s.All, o), append(s.customers, c)
	}
	return s
}

func TestTheVictimIsTheCoordinator(t *testing.T) {
	t.Parallel()
	s := ran("west")
	if o := s.victim(); o == nil || o.Name != "west" {
		t.Errorf("the victim is %v, want the coordinator", o)
	}
	s.next.Other = true
	if o := s.victim(); o == nil || o.Name != "bank" {
		t.Errorf("in the second round the victim is %v, want the one after it", o)
	}
	s.next.Other = false
	s.customers[4].status.Coordinator = "east" // it is furthest
	if o := s.victim(); o == nil || o.Name != "east" {
		t.Errorf("the victim is %v, want the coordinator by the node that is furthest", o)
	}
	for _, spoil := range []func(){
		func() { s.All[2].Stopped = true },
		func() { s.All[2].Killed = true },
		func() { s.All[2].Process = nil },
	} {
		s.All[2].Process, s.All[2].Killed, s.All[2].Stopped = &fleet.Process{}, false, false
		if spoil(); s.victim() != nil {
			t.Error("a node that does not run is a victim")
		}
	}
}

func TestTheTableShowsEachNode(t *testing.T) {
	t.Parallel()
	s := ran("west")
	s.Cast = stage.NewCast[*organisation](0)
	t.Cleanup(func() { s.End(0) })
	for _, c := range s.customers {
		s.All = append(s.All, c.of)
		if err := s.Start(c.of, fleet.Command{Program: "/bin/sleep", Args: []string{"60"}}); err != nil {
			t.Fatal(err)
		}
	}
	pid := s.All[4].PID()
	s.All[0].Killed, s.All[1].Stopped = true, true
	s.All[2].Process.End(0)
	s.All[2].Bury()
	s.All[2].Back = time.Now().Add(time.Second)
	s.customers[3].heard = time.Time{}
	s.dispatches = []time.Duration{321 * time.Millisecond}
	text := s.render(time.Now())
	for _, part := range []string{"COORDINATOR", "killed", "stopped", "dead, back in", "runs", "west", "?", pid, "next dispatch after a kill 321ms", "5 organisations, 3 endorse"} {
		if !strings.Contains(text, part) {
			t.Errorf("the table does not show %q:\n%s", part, text)
		}
	}
	s.healAt = time.Now()
	if text := s.render(time.Now()); !strings.Contains(text, "partitioned") {
		t.Errorf("the table does not show the partition:\n%s", text)
	}
}

// Q5: who restores a database asks again for what was acknowledged since the copy, under the same keys. A request is over
// when the last of its transactions is: the node has forgotten the one before.
func TestARestoreIsFollowedByTheSameRequests(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	c := asking(t, func(_, _, body string) (int, any) {
		var q struct {
			Key      string `json:"idempotency_key"`
			Deadline uint64
		}
		if err := json.Unmarshal([]byte(body), &q); err != nil || q.Deadline != 99 {
			t.Errorf("asked for %s, want the same deadline", body)
		}
		asked[q.Key]++
		return http.StatusAccepted, map[string]string{"id": fmt.Sprint(q.Key, " ", asked[q.Key])}
	})
	c.request(bounded(t), "old", c.payload(0), 99, false)
	c.take(bounded(t), []transaction{{ID: "old 1", Key: "old", Fate: "confirmed"}})
	since := time.Now()
	c.request(bounded(t), "new", c.payload(1), 99, false)
	c.take(bounded(t), []transaction{{ID: "new 1", Key: "new", Fate: "confirmed"}})
	if !c.settled() {
		t.Error("all has ended, and it is not settled")
	}
	c.asksAgain(bounded(t), since)
	c.working.Wait()
	if asked["old"] != 1 || asked["new"] != 2 || c.settled() || c.open() != 1 {
		t.Errorf("asked %v, %d open; want the new one asked for again, and open", asked, c.open())
	}
	c.take(bounded(t), []transaction{{ID: "old 1", Key: "old", Fate: "confirmed"}, {ID: "new 2", Key: "new", Fate: "reverted"}})
	all := c.asked()
	if acks := all[1].Acks; !c.settled() || len(acks) != 2 || acks[0].First != "confirmed" || acks[1].First != "reverted" || acks[1].At.Before(acks[0].At) || !all[1].Ends {
		t.Errorf("the requests are %+v, want both acknowledgements and their ends", all)
	}
}
