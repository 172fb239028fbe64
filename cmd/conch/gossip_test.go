//go:build unix

package main_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/proctest"
)

// machine is one of a site: a node without roles and without a database.
type machine struct {
	*daemon
	t                 *testing.T
	name, fingerprint string
	front             *tcpproxy.Proxy // where the others reach it, also after it was started again
}

// machines are those of a site, which know each other's keys.
type machines struct {
	t        *testing.T
	all      []*machine
	electors []string
	more     string // keys of [gossip]
}

// newSite makes an identity for each name, with the program itself, and starts the nodes. The first so many are electors.
func newSite(t *testing.T, electors int, names ...string) *machines {
	t.Helper()
	return newSiteWith(t, "", electors, names...)
}

// newSiteWith has more keys in [gossip].
func newSiteWith(t *testing.T, more string, electors int, names ...string) *machines {
	t.Helper()
	s := &machines{t: t, electors: names[:electors], more: more}
	for _, name := range names {
		s.all = append(s.all, prepareMachine(t, name))
	}
	for _, m := range s.all {
		m.write(s.file(m))
		s.start(m)
	}
	return s
}

// prepareMachine makes a machine with an identity, and no file.
func prepareMachine(t *testing.T, name string) *machine {
	t.Helper()
	m := &machine{t: t, name: name, front: proxied(t, "127.0.0.1:1"), daemon: prepareDaemon(t, name, "", "")}
	m.fingerprint = decode[map[string]string](t, conch(t, "identity", "new", "--json", "--file", filepath.Join(m.dir, "identity.pem")).done(t))["key"]
	return m
}

// file returns a machine's configuration.
func (s *machines) file(m *machine) string {
	text := "[node]\ndata_dir = \"data\"\nlisten = \"127.0.0.1:0\"\n" +
		fmt.Sprintf("[identity]\nname = %q\nlisten = \"127.0.0.1:0\"\nkey = \"identity.pem\"\n", m.name) +
		fmt.Sprintf("[gossip]\nadvertise = %q\nelectors = [\"%s\"]\n", m.front.Addr(), strings.Join(s.electors, `", "`))
	if len(s.electors) == 0 {
		text = strings.Replace(text, "electors = [\"\"]\n", "round = \"100ms\"\n", 1)
	}
	text += s.more
	for _, other := range s.all {
		if other != m {
			text += fmt.Sprintf("[[peers]]\nname = %q\nurl = \"https://%s\"\nkey = %q\n", other.name, other.front.Addr(), other.fingerprint)
		}
	}
	return text
}

const joins = "this node joins the overlay"

func (s *machines) start(m *machine) {
	s.t.Helper()
	before := m.count("node started")
	m.daemon.start()
	pgtest.Eventually(s.t, patience, m.name+" runs", func() bool { return m.count("node started") > before })
	m.front.Retarget(m.value(joins, "listen"))
}

// kill ends a machine as a power cut does.
func (s *machines) kill(m *machine) {
	s.t.Helper()
	m.front.Retarget("127.0.0.1:1")
	m.stop(syscall.SIGKILL)
}

// sees returns what a machine says of its namespace.
func (m *machine) sees() map[string]any {
	_, answer := get(m.t, m.api()+"/v1/nodes")
	all, _ := answer["namespaces"].([]any)
	if len(all) == 0 {
		return nil
	}
	one, _ := all[0].(map[string]any)
	return one
}

// agree waits until the machines name one leader that is fit, which says so itself, and returns it.
func (s *machines) agree(who []*machine, fit func(*machine) bool) (leader *machine, reign float64) {
	s.t.Helper()
	pgtest.Eventually(s.t, patience, "all name one leader", func() bool {
		leader = nil
		for i, m := range who {
			seen := m.sees()
			at := slices.IndexFunc(s.all, func(o *machine) bool { return o.name == seen["leader"] })
			if at < 0 || i > 0 && (s.all[at] != leader || seen["reign"] != reign) {
				return false
			}
			leader, reign = s.all[at], seen["reign"].(float64)
		}
		if !fit(leader) { // it may be one that was killed
			return false
		}
		leads, _ := leader.sees()["leads"].(bool)
		return leads
	})
	return leader, reign
}

func (s *machines) but(m *machine) []*machine {
	return slices.DeleteFunc(slices.Clone(s.all), func(o *machine) bool { return o == m })
}

func anybody(*machine) bool { return true }

// B7, B17, B19, B21: four machines without a database name one of three electors. When its process is killed the others name
// another one; when it is back nobody deposes that. Each says since when it names it, when it heard of it, and how often
// that has changed.
func TestMachinesOfASiteNameOneLeader(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, "n1", "n2", "n3", "n4")
	leader, reign := s.agree(s.all, anybody)
	if leader.name == "n4" {
		t.Error("n4 leads, and is no elector")
	}
	n4 := s.all[3]
	seen := n4.sees()
	heard, _ := seen["heard_ms"].(float64)
	if valid, _ := seen["valid_ms"].(float64); heard > valid || valid == 0 || seen["since"] == nil || seen["state"] != "bystander" || seen["leader_fingerprint"] != leader.fingerprint {
		t.Errorf("n4 says of its leader: %v", seen)
	}
	pgtest.Eventually(t, patience, "n4 has three neighbours", func() bool { return n4.meets("n1") && n4.meets("n2") && n4.meets("n3") })
	conch(t, "status", "--logs", "--node", n4.api()).refused(t, 2, "this node has no log: its configuration has no [[logs]]")
	conch(t, "log", "status", "--json", "--node", n4.api()).refused(t, 2, "this node has no log")
	printed := conch(t, "status", "--gossip", "--node", n4.api()).done(t)
	for _, part := range []string{"NAMESPACE", "\ndefault     " + leader.name, "bystander", "n4 has 3 neighbours: n1, n2, n3", "This is a hint"} {
		if !strings.Contains(printed, part) {
			t.Errorf("status printed\n%swant %q in it", printed, part)
		}
	}
	if told := decode[map[string]any](t, conch(t, "status", "--gossip", "--json", "--node", n4.api()).done(t)); told["self"] != "n4" || told["fingerprint"] != n4.fingerprint {
		t.Errorf("status --json printed %v", told)
	}

	s.kill(leader)
	next, later := s.agree(s.but(leader), func(m *machine) bool { return m != leader })
	if later <= reign || next.name == "n4" {
		t.Errorf("after the leader %s of reign %v, %s leads in reign %v", leader.name, reign, next.name, later)
	}
	_, metrics := page(t, n4.api()+"/metrics")
	for _, line := range []string{"conch_gossip_leader_changes_total{namespace=\"default\"} ", "conch_gossip_leader_tenure_seconds{namespace=\"default\"} "} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("the metrics have no %s", line)
		}
	}
	if changes, _ := n4.sees()["changes"].(float64); changes < 2 {
		t.Errorf("n4 has seen %v changes, want the first leader and the second", changes)
	}
	s.start(leader)
	if still, reign := s.agree(s.all, anybody); still != next || reign != later {
		t.Errorf("when it is back, %s leads in reign %v, want %s in %v still", still.name, reign, next.name, later)
	}
}

// News that one machine tells is at all others, once. Withdrawn, a leader steps down; told to end, it says so, and nobody
// waits for its word to expire, which would take longer than this test.
func TestNewsAndFarewells(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, "diameter = 400\n", 0, "n1", "n2", "n3")
	leader, _ := s.agree(s.all, anybody)
	stream := streamEvents(t, s.all[2].daemon, "?gossip.news=default", "")
	code, body := s.all[0].sends(http.MethodPut, "/v1/nodes/default/news/flag", "blue")
	if code != http.StatusAccepted {
		t.Fatalf("%d %s", code, body)
	}
	for _, m := range s.all {
		pgtest.Eventually(t, patience, m.name+" has heard it", func() bool { return len(m.news()) > 0 })
	}
	if code, body := s.all[1].sends(http.MethodPut, "/v1/nodes/default/news/other", "\x00"); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, body)
	}
	for _, want := range []string{"n1 flag blue", "n2 other \x00"} { // so the first one came once
		name, data := stream.next()
		text, err := base64.StdEncoding.DecodeString(data["body"].(string))
		if got := fmt.Sprint(data["subject"], " ", data["topic"], " ", string(text)); name != "gossip.news" || got != want || err != nil {
			t.Errorf("n3 has heard %s %q, want %q", name, got, want)
		}
	}

	code, body = leader.sends(http.MethodPost, "/v1/nodes/default/withdraw", `{"why":"the disk is full"}`)
	if code != http.StatusAccepted {
		t.Fatalf("%d %s", code, body)
	}
	next, _ := s.agree(s.all, func(m *machine) bool { return m != leader })
	if leader.count("this node is withdrawn", "why", "the disk is full") != 1 {
		t.Error("the log of the leader does not say why it stands back")
	}
	if code := next.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	s.agree(s.but(next), func(m *machine) bool { return m != next })
	if news := s.but(next)[0].news(); len(news) != 2 {
		t.Errorf("the news is %q, want both pieces, once", news)
	}
}

// news returns the topics that a machine has heard of.
func (m *machine) news() (topics []string) {
	_, answer := get(m.t, m.api()+"/v1/nodes")
	all, _ := answer["news"].([]any)
	for _, one := range all {
		topics = append(topics, one.(map[string]any)["topic"].(string))
	}
	return topics
}

// sends sends a request, with a JSON body if it is a POST.
func (m *machine) sends(method, path, body string) (code int, text string) {
	m.t.Helper()
	header := http.Header{}
	if method == http.MethodPost {
		header = inJSON
	}
	return sends(m.t, method, m.api()+path, body, header)
}

// readings is the office to which they are uploaded.
type readings struct {
	*httptest.Server
	mu   sync.Mutex
	last string // whose reading came last
}

func newReadings(t *testing.T) *readings {
	o := &readings{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPut || !strings.HasPrefix(r.URL.Path, "/20") {
			t.Errorf("%s %s: %v, want a reading under the name of its minute", r.Method, r.URL.Path, err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.last = string(body)
	}))
	t.Cleanup(o.Close)
	return o
}

// from reports whether a machine's reading came last.
func (o *readings) from(m *machine) func() bool {
	return func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.last == m.name
	}
}

// The example that docs/gossip.md teaches: one machine of a site uploads, another one when it is killed, and yet another one
// when it cannot reach the office. The page shows the script's loop as it is.
func TestOneUploaderForASite(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../examples/gossip-uploader/upload.sh")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	taught, err := os.ReadFile("../../docs/gossip.md")
	if err != nil {
		t.Fatal(err)
	}
	if loop := string(text)[strings.Index(string(text), "while sleep"):]; !strings.Contains(string(taught), "```sh\n"+loop+"```\n") {
		t.Errorf("docs/gossip.md does not show the loop\n%s", loop)
	}
	office, bin := newReadings(t), t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "conch")); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, 0, "n1", "n2", "n3")
	for _, m := range s.all {
		reading := filepath.Join(m.dir, "reading")
		if err := os.WriteFile(reading, []byte(m.name), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", script, reading, office.URL, m.api())
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "UPLOAD_EVERY=0.1")
		cmd.SysProcAttr = ownSession()
		proctest.Start(t, cmd)
	}
	leader, _ := s.agree(s.all, anybody)
	pgtest.Eventually(t, patience, "the leader uploads", office.from(leader))
	s.kill(leader)
	next, _ := s.agree(s.but(leader), func(m *machine) bool { return m != leader })
	pgtest.Eventually(t, patience, "the next leader uploads", office.from(next))
	if err := os.Remove(filepath.Join(next.dir, "reading")); err != nil { // then curl fails
		t.Fatal(err)
	}
	last, _ := s.agree(s.but(leader), func(m *machine) bool { return m != leader && m != next })
	pgtest.Eventually(t, patience, "the one after it uploads", office.from(last))
}
