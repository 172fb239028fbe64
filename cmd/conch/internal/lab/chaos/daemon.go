//go:build unix

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
)

// answerMax is how long an answer of a gate may live, as a share of a lease: more than
// what one gets that did not ask for it, and less than the life of any gate.
const answerMax = 0.65

// daemon is a `conch node` beside the machines: its HTTP gate is what strangers ask.
type daemon struct {
	id, dir string
	tokens  bool // a question needs the secret
	process *fleet.Process
	over    chan struct{} // closed when the process has ended
}

// role is a table of [[roles]].
type role struct{ scope, work string }

// secret is the token that all askers present.
const secret = "a-secret-of-a-private-database" //nolint:gosec // it opens nothing that outlives the run

// strangeActor is the name of that token: no text in any encoding of Postgres.
const strangeActor = "f\xfcr\xff\U0001f41a"

func (d *daemon) file() string   { return filepath.Join(d.dir, "conch.toml") }
func (d *daemon) socket() string { return filepath.Join(d.dir, "api") }

// write puts the daemon's configuration into place, at once.
func (d *daemon) write(lease time.Duration, takeover string, roles []role) error {
	var b strings.Builder
	fmt.Fprintf(&b, "[node]\ninstance_id = %q\nlisten = %q\ndata_dir = %q\n", d.id, "unix:"+d.socket(), filepath.Join(d.dir, "data"))
	fmt.Fprintf(&b, "answer_max = %q\n", longAnswer(lease))
	if d.tokens {
		fmt.Fprintf(&b, "token_file = %q\n", filepath.Join(d.dir, "tokens"))
		if err := os.WriteFile(filepath.Join(d.dir, "tokens"), []byte(strangeActor+" "+secret+"\n"), 0o600); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "[election]\nlease = %q\ntakeover = %q\n", lease, takeover)
	for _, r := range roles {
		fmt.Fprintf(&b, "[[roles]]\nscope = %q\n%s\n", r.scope, r.work)
	}
	next := d.file() + ".next"
	if err := os.WriteFile(next, []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, d.file())
}

// longAnswer is what an asker that needs time asks for.
func longAnswer(lease time.Duration) time.Duration {
	return time.Duration(answerMax * float64(lease)).Truncate(time.Millisecond)
}

// start gives the daemon a life.
func (d *daemon) start(c *Cluster) error {
	return d.launch(c, "node", "--config", d.file(), "--log-level", "error")
}

func (d *daemon) launch(c *Cluster, words ...string) (err error) {
	over := make(chan struct{})
	c.ending.Add(1)
	d.process, err = c.launcher.Launch(c.cfg.Program, words, []string{"CONCH_DB_URL=" + c.URL}, func(news fleet.News) {
		if news.Ended {
			close(over)
			c.ending.Done()
		}
	})
	if err != nil {
		c.ending.Done()
		return err
	}
	d.over = over
	return nil
}

// alive tells whether it lives; one that never lived does not.
func (d *daemon) alive() bool {
	if d.over == nil {
		return false
	}
	select {
	case <-d.over:
		return false
	default:
		return true
	}
}

// end asks the daemon to end, and kills it if it has not after the patience. It tells
// whether that was needed.
func (d *daemon) end(patience time.Duration) (killed bool) {
	if d.over == nil {
		return false
	}
	d.process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.over:
		return false
	case <-timer.C:
		d.process.Signal(syscall.SIGKILL)
		<-d.over
		return true
	}
}
