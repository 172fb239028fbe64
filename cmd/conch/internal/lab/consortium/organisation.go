//go:build unix

package consortium

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/lab/network"
	"github.com/conchhq/conch/cmd/conch/internal/lab/skew"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/transport/mtls"
)

// organisation is one party of the contract, and the process of its node.
type organisation struct {
	stage.Player

	dir      string        // its files
	db       string        // URL of its database
	listen   string        // of its API
	address  string        // where its peers find it, if no proxy is between them; else empty
	level    string        // of its log; empty: the node's own
	account  string        // on the chain, in lower case
	secret   string        // its private key
	chain    string        // URL of its endpoint
	clock    *skew.Clock   // nil: the machine's
	identity mtls.Identity // for its peers
	ca       string        // file of the CA by which it knows its peers; empty: by their fingerprints
	refusals *atomic.Int64 // counts peers that are refused since their certificates have ended
	ownEnd   atomic.Bool   // it has said that its own certificate has ended
	api      *api
	log      io.Writer
}

// found makes an organisation's files: a keystore for its account, with the given key or a new one, and an identity.
func found(dir, name, key string) (*organisation, error) {
	o := &organisation{Player: stage.Player{Name: name}, dir: filepath.Join(dir, name), log: io.Discard}
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		return nil, err
	}
	if key == "" {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // it never fails
		secret[0] &= 0x7f        // below the order of the curve
		key = hex.EncodeToString(secret)
	}
	password := rand.Text()
	account, err := evm.WriteKeystore(filepath.Join(o.dir, "account.json"), key, password, evm.NoCost)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(o.dir, "password"), []byte(password+"\n"), 0o600); err != nil {
		return nil, err
	}
	if o.identity, err = mtls.CreateIdentity(filepath.Join(o.dir, "identity.pem")); err != nil {
		return nil, err
	}
	o.secret, o.account = key, strings.ToLower(account.String())
	o.listen = "unix:" + filepath.Join(o.dir, "api")
	return o, nil
}

func (o *organisation) file() string { return filepath.Join(o.dir, "conch.toml") }

// write writes the node's configuration. Without a table of the contract it has the account alone.
func (o *organisation) write(id uint64, peers []*organisation, l *network.Network, table string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "[node]\ndata_dir = %s\n[[chains]]\nname = \"private\"\nkind = \"evm\"\nurl = %s\nchain_id = %d\n"+
		"[[accounts]]\nname = \"ops\"\nchain = \"private\"\nkeystore = \"account.json\"\npassword_file = \"password\"\n", stage.TOML(filepath.Join(o.dir, "data")), stage.TOML(o.chain), id)
	if table != "" {
		fmt.Fprintf(&b, "[identity]\nname = %s\nlisten = %s\nkey = \"identity.pem\"\n", stage.TOML(o.Name), stage.TOML(cmp.Or(o.address, "127.0.0.1:0")))
		if o.ca != "" {
			fmt.Fprintf(&b, "certificate = \"certificate.pem\"\nca = %s\n", stage.TOML(o.ca))
		}
		for _, p := range peers {
			if p == o {
				continue
			}
			fmt.Fprintf(&b, "[[peers]]\nname = %s\nurl = %s\n", stage.TOML(p.Name), stage.TOML("https://"+cmp.Or(l.Way(o.Name, p.Name), p.address)))
			if o.ca == "" {
				fmt.Fprintf(&b, "key = %s\n", stage.TOML(p.identity.Fingerprint().String()))
			}
		}
		b.WriteString(table)
	}
	return os.WriteFile(o.file(), []byte(b.String()), 0o600)
}

// command says how the node is run. The links lead to it as soon as it says where it listens.
func (o *organisation) command(program string, l *network.Network) fleet.Command {
	hear := fleet.Lines(func(line []byte) {
		var said struct {
			Message string `json:"msg"`
			Listen  string `json:"listen"`
			Reason  string `json:"reason"`
			Level   string `json:"level"`
			Paper   string `json:"certificate"`
		}
		if json.Unmarshal(line, &said) != nil {
			return
		}
		if said.Message == "the node of the contracts runs" {
			l.Lead(o.Name, said.Listen)
		}
		if said.Reason == string(mtls.Expired) && o.refusals != nil {
			o.refusals.Add(1)
		}
		if said.Paper == "identity" && said.Level == "ERROR" {
			o.ownEnd.Store(true)
		}
	})
	return fleet.Command{
		Program: program,
		Args: []string{
			"node", "--config", o.file(), "--id", o.Name + "-1", "--listen", o.listen, "--log-format", "json", "--log-level", cmp.Or(o.level, "info"),
		},
		Env: append([]string{"CONCH_DB_URL=" + o.db}, o.clock.Env()...), Log: io.MultiWriter(o.log, hear),
	}
}
