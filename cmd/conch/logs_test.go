//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// flags is what [[logs]] has in these tests.
const flags = "[[logs]]\nnamespace = \"flags\"\n"

// logOf returns what a machine says of its log.
func (m *machine) logOf() (s struct {
	State, ID, Leader string
	Store             uint64
	Decides           bool
	Position          *struct {
		Index uint64
		Hash  string
	}
}) {
	m.t.Helper()
	if text, code := logCall(m, "status", "flags", "--json"); code == 0 {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			m.t.Fatal(err)
		}
	}
	return s
}

// logCall calls conch log with a machine.
func logCall(m *machine, args ...string) (out string, code int) {
	m.t.Helper()
	r := conch(m.t, append(append([]string{"log"}, args...), "--node", m.api())...)
	return r.out + r.err, r.code
}

// makes has a machine make the log of some members.
func (s *machines) makes(m *machine, members string) (id string) {
	s.t.Helper()
	id = strings.TrimSpace(conch(s.t, "log", "create", "flags", "--members", members, "--lease", "1s", "--node", m.api()).done(s.t))
	pgtest.Eventually(s.t, longPatience, "all have the log", func() bool {
		for _, other := range s.all {
			if now := other.logOf(); now.ID != id || now.State != "running" {
				return false
			}
		}
		return true
	})
	return id
}

// goal has a machine submit one, and wants it done.
func (m *machine) goal(goal string) {
	m.t.Helper()
	conch(m.t, "log", "goal", "flags", goal, "--node", m.api()).done(m.t)
}

// equal waits until all machines have the same newest entry, and has them compared.
func (s *machines) equal() {
	s.t.Helper()
	args := []string{"log", "verify", "flags"}
	for _, m := range s.all {
		args = append(args, "--node", m.api())
	}
	pgtest.Eventually(s.t, longPatience, "all have the same entries", func() bool {
		first := s.all[0].logOf().Position
		for _, m := range s.all {
			if now := m.logOf().Position; first == nil || now == nil || *now != *first {
				return false
			}
		}
		return true
	})
	if out := conch(s.t, args...).done(s.t); !strings.Contains(out, "equal up to entry ") {
		s.t.Errorf("verify printed\n%s", out)
	}
}

// B8 to B15, B18, V7, and new-disk-new-member: three members and two followers in five processes. Goals are taken at every node,
// the leader is killed and comes back, a member loses its disk, and a node begins from nothing: at the end all have the same.
func TestALogOfFiveProcesses(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, flags, 3, "n1", "n2", "n3", "n4", "n5")
	id := s.makes(s.all[3], "n1,n2,n3")
	for _, m := range s.all {
		m.goal(`{"op":"add","key":"count"}`)
	}
	leader := s.leads("")
	s.kill(leader)
	for _, m := range s.but(leader) {
		m.goal(`{"op":"add","key":"count"}`)
	}
	if next := s.leads(leader.name); next == leader {
		t.Errorf("%s leads, and was killed", next.name)
	}
	s.start(leader)

	// A member's disk is lost.
	lost := s.all[0]
	if s.leads("") == lost {
		lost = s.all[1]
	}
	before := lost.logOf().Store
	lost.stop(syscall.SIGTERM)
	file := filepath.Join(lost.dir, "data", "logs", "flags.log")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.start(lost)
	pgtest.Eventually(t, longPatience, lost.name+" is a member again", func() bool {
		now := lost.logOf()
		return now.Decides && now.Store != before && now.ID == id
	})

	// An entry that is larger than what may wait on a connection goes from a follower to the leader, to the members and to the followers.
	value := strings.Repeat("v", 30_000)
	ops := fmt.Sprintf(`{"op":"put","key":"large","value":%q}`, value)
	for i := range 33 {
		s.all[4].goal(fmt.Sprintf(`{"op":"put","key":"large/%d","value":%q}`, i, value))
		ops += fmt.Sprintf(`,{"op":"delete","key":"large/%d"}`, i)
	}
	s.all[4].goal(`{"ops":[` + ops + `]}`)
	s.equal()

	// A follower begins from nothing.
	last := s.all[4]
	s.kill(last)
	if err := os.RemoveAll(filepath.Join(last.dir, "data", "logs")); err != nil {
		t.Fatal(err)
	}
	s.start(last)
	s.all[3].goal(`{"op":"put","key":"end","value":true}`)
	s.equal()
	for _, m := range s.all {
		if out, code := logCall(m, "query", "flags", `{"get":"count"}`); code != 0 || strings.TrimSpace(out) != `{"key":"count","value":9,"found":true}` {
			t.Errorf("%s has %d %s", m.name, code, out)
		}
	}
	if out, code := logCall(s.all[2], "query", "flags", `{"get":"end"}`, "--fresh"); code != 0 || !strings.Contains(out, "true") {
		t.Errorf("a fresh read: %d %s", code, out)
	}
	_, metrics := page(t, s.all[4].api()+"/metrics")
	for _, line := range []string{
		`conch_log_goal_result_timeouts_total{namespace="flags"} 0`, `conch_log_history_requests_total{namespace="flags"} `, `conch_log_pending_goals{namespace="flags"} 0`,
		`conch_log_members{namespace="flags"} 3`, `conch_log_forks_total{namespace="flags"} 0`, `conch_log_behind{namespace="flags"} 0`,
	} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("the metrics have no %s", line)
		}
	}

	// What a store has is checked without a process.
	last.stop(syscall.SIGTERM)
	if out := conch(t, "log", "verify", "flags", "--store", filepath.Join(last.dir, "data", "logs", "flags.log")).done(t); !strings.Contains(out, "are whole") {
		t.Errorf("verify --store printed %s", out)
	}
}

// leads waits until a machine that is not the one named leads the log, and returns it.
func (s *machines) leads(not string) (leader *machine) {
	s.t.Helper()
	pgtest.Eventually(s.t, longPatience, "one leads the log", func() bool {
		for _, m := range s.all {
			name := m.logOf().Leader
			if m.name == name && name != not {
				leader = m
				return true
			}
		}
		return false
	})
	return leader
}

// A member is away when the log is made: the command says who, and nothing was made. Goals that fail, and such as are none, are told
// in one sentence; so is a log that nobody has made.
func TestALogThatIsNotMade(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, flags, 3, "n1", "n2", "n3")
	away := s.all[2]
	s.kill(away)
	n1 := s.all[0]
	if code, text := page(t, n1.api()+"/readyz"); code != 200 { // one log's trouble is nobody else's
		t.Errorf("without a log it is not ready: %d %s", code, text)
	}
	if _, text := page(t, n1.api()+"/healthz"); !strings.Contains(text, `"services":{"logs":[{"namespace":"flags","state":"waiting","role":"none","index":0,"behind":0}]}`) {
		t.Errorf("its health is %s", text)
	}
	create := []string{"log", "create", "flags", "--members", "n1,n2,n3", "--node", n1.api()}
	conch(t, append(create, "--lease", "500us")...).refused(t, 2, "--lease 500µs is not from 100ms to 10m0s")
	conch(t, create...).refused(t, 1, "no log was made", "n3: it does not answer", "nothing was done")
	for _, args := range [][]string{
		{"goal", "flags", `{"op":"add","key":"a"}`}, {"goal", "flags", `{"op":"add","key":"a"}`, "--since", "0"}, {"query", "flags", `{"get":"a"}`}, {"tail", "flags"},
		{"members", "flags"}, {"members", "flags", "--json"}, {"members", "flags", "--set", "n1"}, {"verify", "flags", "--node", strings.Replace(n1.api(), "127.0.0.1", "localhost", 1)},
	} {
		conch(t, append(append([]string{"log"}, args...), "--node", n1.api())...).refused(t, 2, "heard of no log of that name yet", "conch log create makes one")
	}
	conch(t, "log", "create", "flags", "--members", "n1,n9", "--node", n1.api()).refused(t, 2, `"n9"`)
	conch(t, "log", "status", "routes", "--node", n1.api()).refused(t, 2, `"routes" is no log of this node: it has flags. A [[logs]] table`)
	if out := conch(t, "log", "status", "flags", "--node", n1.api()).done(t); !strings.Contains(out, "conch log create makes one") {
		t.Errorf("the status of a log that nobody has made is\n%s", out)
	}
	conch(t, "log", "members", "flags", "--set", "", "--node", n1.api()).refused(t, 2, "--set names nobody")
	conch(t, "status", "--gossip", "--logs", "--node", n1.api()).refused(t, 2, "--gossip and --logs")
	s.start(away)
	s.makes(n1, "n1,n2,n3")
	conch(t, "log", "create", "flags", "--members", "n1,n2", "--node", n1.api()).refused(t, 1, "there is a log of that name already")
	conch(t, "log", "goal", "flags", `{"op":"nothing"}`, "--node", n1.api()).refused(t, 1, "the goal has failed, and nothing has changed")
	conch(t, "log", "goal", "flags", `{`, "--node", n1.api()).refused(t, 2, "is no JSON")
	conch(t, "log", "query", "flags", `{"what":1}`, "--node", n1.api()).refused(t, 2, `no field "what"`)
	for _, nodes := range [][]string{nil, {"--node", n1.api()}, {"--node", n1.api(), "--node", n1.api(), "--json"}} {
		conch(t, append([]string{"log", "verify", "flags"}, nodes...)...).refused(t, 2, "repeat --node for each of them")
	}
	conch(t, "log", "verify", "flags", "--store", n1.dir+"/nowhere").refused(t, 2, "there is no store")
	for kind, says := range map[string]string{n1.file: n1.file + " does not begin as one", n1.dir: n1.dir + " is a folder"} {
		conch(t, "log", "verify", "flags", "--store", kind).refused(t, 2, "not a store of conch: "+says)
	}
	conch(t, "log", "recover", "flags", "--config", n1.file, "--from", n1.dir).refused(t, 2, "is a directory")
	conch(t, "log", "recover", "routes", "--config", n1.file, "--out", n1.dir+"/r").refused(t, 2, "no [[logs]] with the namespace")
	conch(t, "log", "recover", "flags", "--config", n1.file, "--from", n1.dir+"/nowhere").refused(t, 2, "there is no recovery file")
	conch(t, "log", "goal", "flags", `{"op":"put","key":"a","value":"`+"\u009b31m"+`"}`, "--goal-id", "x\x1b[31m\n99 goal", "--node", n1.api()).done(t)
	if out := conch(t, "log", "tail", "flags", "--node", n1.api()).done(t); strings.ContainsAny(out, "\x1b\u009b") || !strings.Contains(out, `x\u001b[31m 99 goal: {"op":"put","key":"a","value":"\u009b31m"}`) {
		t.Errorf("what moves a cursor is printed: %q", out)
	}
	n1.goal(`{"op":"put","key":"a","value":1}`)
	if again := conch(t, "log", "goal", "flags", `{"op":"put","key":"a","value":2}`, "--goal-id", "x", "--node", n1.api()); again.code != 0 {
		t.Errorf("%+v", again)
	}
	conch(t, "log", "goal", "flags", `{"op":"put","key":"a","value":3}`, "--goal-id", "x", "--node", s.all[1].api()).refused(t, 1, "another goal has this id")
	if out := conch(t, "status", "--logs", "--node", n1.api()).done(t); !strings.Contains(out, "flags") || !strings.Contains(out, "ROLE") {
		t.Errorf("status --logs printed\n%s", out)
	}
	if r := conch(t, "log", "tail", "flags", "--from", "99999", "--node", n1.api()); r.code != 0 || r.out != "" || r.err != fmt.Sprintf("the log ends at entry %d here\n", n1.logOf().Position.Index) {
		t.Errorf("tail from where nothing is yet: %+v", r)
	}
	out, _ := logCall(s.all[1], "tail", "flags", "--from", "1")
	if want := fmt.Sprintf("x: %s → ", `{"op":"put","key":"a","value":2}`); !strings.Contains(out, want) {
		t.Errorf("tail printed\n%swant %q in it", out, want)
	}

	// A new lineage, from the copy of one node.
	before := n1.logOf()
	for _, m := range s.all {
		m.stop(syscall.SIGTERM)
	}
	file := filepath.Join(t.TempDir(), "flags.recovery")
	conch(t, "log", "recover", "flags", "--config", n1.file).refused(t, 2, "one of --out and --from")
	made := decode[map[string]any](t, conch(t, "log", "recover", "flags", "--config", n1.file, "--out", file, "--json").done(t))
	if made["id"] == before.ID || made["index"] != float64(before.Position.Index) {
		t.Errorf("recover made %v of %+v", made, before)
	}
	conch(t, "log", "recover", "flags", "--config", s.all[1].file, "--from", n1.file).refused(t, 2, "no recovery file, as conch log recover --out writes one", "is of another kind")
	for _, m := range s.all[1:] {
		conch(t, "log", "recover", "flags", "--config", m.file, "--from", file).done(t)
	}
	for _, m := range s.all {
		s.start(m)
	}
	pgtest.Eventually(t, longPatience, "the log goes on", func() bool { return n1.logOf().Leader == "n1" })
	s.all[2].goal(`{"op":"put","key":"b","value":1}`)
	s.equal()
	if now := s.all[1].logOf(); now.ID != made["id"] || now.Position.Index <= before.Position.Index {
		t.Errorf("n2 has %+v", now)
	}
}
