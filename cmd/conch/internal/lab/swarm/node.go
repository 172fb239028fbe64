//go:build unix

package swarm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/transport/mtls"
)

// node is one agent, whose process is started again after it has ended.
type node struct {
	name        string
	dir         string
	home        netip.Addr // from where it dials; not valid: the system chooses
	listen      string     // where it listens for others
	public      string     // where others find it
	fingerprint string     // of its key
	elector     bool
	logs        bool // it has the log

	process *fleet.Process // nil while dead
	life    int            // of the record; of the last process while dead
	killed  bool           // by us
	back    time.Time      // when it is started again; zero: not by itself
	deaf    func()         // ends the listening to its process
	peers   int            // its neighbours, as last told
}

// found makes the folder and the key.
func (n *node) found(a *authority) error {
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		return err
	}
	if err := a.found(n.name, n.dir); err != nil {
		return err
	}
	id, err := mtls.LoadIdentity(filepath.Join(n.dir, keyFile), filepath.Join(n.dir, certificateFile))
	if err != nil {
		return err
	}
	n.fingerprint = id.Fingerprint().String()
	return nil
}

func (n *node) socket() string { return filepath.Join(n.dir, socketFile) }

// store is the file with the node's copy of the log.
func (n *node) store() string { return filepath.Join(n.dir, storeFile) }

// write writes the node's configuration, as a user would: it knows its contacts and the electors, and joins by the CA.
func (n *node) write(all []*node, contacts []*node, ca string, round time.Duration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "[node]\nlisten = %s\n\n[identity]\nname = %s\nlisten = %s\nkey = %s\ncertificate = %s\nca = %s\n",
		quoted("unix:"+n.socket()), quoted(n.name), quoted(n.listen), quoted(keyFile), quoted(certificateFile), quoted(ca))
	var elect, join []string
	for _, p := range all {
		contact := false
		for _, c := range contacts {
			contact = contact || c == p
		}
		if p.elector {
			elect = append(elect, quoted(p.name))
		}
		if contact && p != n {
			join = append(join, quoted(p.name))
		}
		if p != n && (p.elector || contact) {
			fmt.Fprintf(&b, "\n[[peers]]\nname = %s\nurl = %s\nkey = %s\n", quoted(p.name), quoted("https://"+p.public), quoted(p.fingerprint))
		}
	}
	fmt.Fprintf(&b, "\n[gossip]\ncontacts = [%s]\nelectors = [%s]\nnamespaces = [%s]\ndiameter = %d\nround = %s\n",
		strings.Join(join, ", "), strings.Join(elect, ", "), quoted(namespace), diameter, quoted(round.String()))
	if n.home.IsValid() {
		fmt.Fprintf(&b, "source = %s\nadvertise = %s\n", quoted(n.home.String()), quoted(n.public))
	}
	if n.logs {
		fmt.Fprintf(&b, "\n[[logs]]\nnamespace = %s\nstore = %s\n", quoted(logName), quoted(storeFile))
	}
	return os.WriteFile(filepath.Join(n.dir, configFile), []byte(b.String()), 0o600)
}

// believe writes the id of the log into the configuration: from its next start on the node believes nobody else how the log began.
func (n *node) believe(id string) error {
	file, err := os.OpenFile(filepath.Join(n.dir, configFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "id = %s\n", quoted(id)) // [[logs]] is the last table
	return errors.Join(err, file.Close())
}

// quoted returns a text as a JSON string, which is also valid TOML.
func quoted(text string) string {
	out, _ := json.Marshal(text) //nolint:errchkjson // a text has a form
	return string(out)
}
