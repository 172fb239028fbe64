//go:build unix

package swarm

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/authority"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/transport/mtls"
)

// node is one agent, whose process is started again after it has ended.
type node struct {
	stage.Player

	dir         string
	home        netip.Addr // from where it dials; not valid: the system chooses
	listen      string     // where it listens for others
	public      string     // where others find it
	fingerprint string     // of its key
	elector     bool
	logs        bool // it has the logs

	life  int    // of the record; of the last process while dead
	deaf  func() // ends the listening to its process
	peers int    // its neighbours, as last told
}

// The files in a node's folder.
const (
	keyFile         = "identity.pem"
	certificateFile = "certificate.pem"
	configFile      = "conch.toml"
	socketFile      = "api"
	storeFile       = "flags.log"
	worldFile       = "world.log"
)

// found makes the folder and the key.
func (n *node) found(ca *authority.Authority) error {
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		return err
	}
	id, err := mtls.CreateIdentity(filepath.Join(n.dir, keyFile))
	if err != nil {
		return err
	}
	n.fingerprint = id.Fingerprint().String()
	return ca.Certify(n.Name, id, filepath.Join(n.dir, certificateFile), authority.Lasting)
}

func (n *node) socket() string { return filepath.Join(n.dir, socketFile) }

// store is the file with the node's copy of the log.
func (n *node) store() string { return filepath.Join(n.dir, storeFile) }

// write writes the node's configuration, as a user would: it knows its contacts and the electors, and joins by the CA.
func (n *node) write(all []*node, contacts []*node, ca string, round time.Duration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "[node]\nlisten = %s\n\n[identity]\nname = %s\nlisten = %s\nkey = %s\ncertificate = %s\nca = %s\n",
		stage.TOML("unix:"+n.socket()), stage.TOML(n.Name), stage.TOML(n.listen), stage.TOML(keyFile), stage.TOML(certificateFile), stage.TOML(ca))
	var elect, join []string
	for _, p := range all {
		contact := false
		for _, c := range contacts {
			contact = contact || c == p
		}
		if p.elector {
			elect = append(elect, stage.TOML(p.Name))
		}
		if contact && p != n {
			join = append(join, stage.TOML(p.Name))
		}
		if p != n && (p.elector || contact) {
			fmt.Fprintf(&b, "\n[[peers]]\nname = %s\nurl = %s\nkey = %s\n", stage.TOML(p.Name), stage.TOML("https://"+p.public), stage.TOML(p.fingerprint))
		}
	}
	fmt.Fprintf(&b, "\n[gossip]\ncontacts = [%s]\nelectors = [%s]\nnamespaces = [%s]\ndiameter = %d\nround = %s\n",
		strings.Join(join, ", "), strings.Join(elect, ", "), stage.TOML(namespace), diameter, stage.TOML(round.String()))
	if n.home.IsValid() {
		fmt.Fprintf(&b, "source = %s\nadvertise = %s\n", stage.TOML(n.home.String()), stage.TOML(n.public))
	}
	if n.logs {
		for _, l := range []struct{ name, machine, store string }{{logName, "kv", storeFile}, {worldName, "prolog", worldFile}} {
			fmt.Fprintf(&b, "\n[[logs]]\n%smachine = %s\nstore = %s\n", ofLog(l.name), stage.TOML(l.machine), stage.TOML(l.store))
		}
	}
	return os.WriteFile(filepath.Join(n.dir, configFile), []byte(b.String()), 0o600)
}

func ofLog(log string) string { return fmt.Sprintf("namespace = %s\n", stage.TOML(log)) }

// believe writes the id of a log into the configuration: from its next start on the node believes nobody else how the log began.
func (n *node) believe(log, id string) error {
	file := filepath.Join(n.dir, configFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Replace(string(text), "\n"+ofLog(log), fmt.Sprintf("\n%sid = %s\n", ofLog(log), stage.TOML(id)), 1)), 0o600)
}
