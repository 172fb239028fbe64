//go:build unix

package main_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

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
