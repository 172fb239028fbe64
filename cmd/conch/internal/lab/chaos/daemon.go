//go:build unix

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/internal/durable"
	"github.com/conchhq/conch/internal/fleet"
)

// answerMax is the maximum lifetime of a gate's answer in leases: longer than the default, and
// shorter than the life of any gate.
const answerMax = 0.65

// daemon is a conch node beside the machines, whose HTTP gate the askers call.
type daemon struct {
	id, dir string
	tokens  bool           // the API requires the secret
	process *fleet.Process // nil: it was never started
}

// role is an entry of [[roles]].
type role struct{ scope, work string }

// secret is the token of all askers.
const secret = "a-secret-of-a-private-database" //nolint:gosec // it opens nothing that outlives the run

// strangeActor is the name of that token. It is not valid text in any encoding of Postgres.
const strangeActor = "f\xfcr\xff\U0001f41a"

func (d *daemon) file() string   { return filepath.Join(d.dir, "conch.toml") }
func (d *daemon) socket() string { return filepath.Join(d.dir, "api") }

// api is its HTTP API, for one that has the token.
func (d *daemon) api(patience time.Duration) *nodeapi.Node {
	n := nodeapi.Listening("unix:"+d.socket(), 0, patience)
	n.Token = secret
	return n
}

// write replaces the daemon's configuration atomically.
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
	return durable.Replace(d.file(), []byte(b.String()))
}

// longAnswer returns the lifetime that an asker with long acts requests.
func longAnswer(lease time.Duration) time.Duration {
	return time.Duration(answerMax * float64(lease)).Truncate(time.Millisecond)
}

func (d *daemon) start(c *Cluster) error {
	return d.launch(c, "node", "--config", d.file(), "--log-level", "error")
}

func (d *daemon) launch(c *Cluster, words ...string) (err error) {
	d.process, err = c.launch(c.URL, c.cfg.Conch, words, nil)
	return err
}

func (d *daemon) alive() bool { return d.process != nil && d.process.Alive() }

// end sends SIGTERM, and SIGKILL if the process has not ended within the patience. It reports
// whether SIGKILL was needed.
func (d *daemon) end(patience time.Duration) (killed bool) {
	return d.process != nil && d.process.End(patience)
}
