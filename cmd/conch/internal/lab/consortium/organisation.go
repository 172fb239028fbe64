//go:build unix

package consortium

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/lab/network"
	"github.com/conchhq/conch/cmd/conch/internal/lab/skew"
	"github.com/conchhq/conch/transport/mtls"
)

// organisation is one party of the contract, and the process of its node.
type organisation struct {
	name        string
	dir         string        // its files
	db          string        // URL of its database
	listen      string        // of its API
	address     string        // where its peers find it, if no proxy is between them; else empty
	level       string        // of its log; empty: the node's own
	account     string        // on the chain, in lower case
	secret      string        // its private key
	chain       string        // URL of its endpoint
	clock       *skew.Clock   // nil: the machine's
	fingerprint string        // of its identity
	ca          string        // file of the CA by which it knows its peers; empty: by their fingerprints
	refusals    *atomic.Int64 // counts peers that are refused since their certificates have ended
	api         *api
	log         io.Writer

	process *process // nil while dead
	back    time.Time
	words   string // the last line of the process that has ended
}

// process is one start of a node. Its fields belong to the supervisor.
type process struct {
	cmd     *exec.Cmd
	pid     int
	words   *fleet.LastLine
	killed  bool // by us
	stopped bool // by SIGSTOP
}

// ended is the news that a process has ended.
type ended struct {
	of   *organisation
	from *process
}

// found makes an organisation's files: a keystore for its account, with the given key or a new one, and an identity.
func found(dir, name, key string) (*organisation, error) {
	o := &organisation{name: name, dir: filepath.Join(dir, name), log: io.Discard}
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
	id, err := mtls.CreateIdentity(filepath.Join(o.dir, "identity.pem"))
	if err != nil {
		return nil, err
	}
	o.secret = key
	o.account, o.fingerprint = strings.ToLower(account.String()), id.Fingerprint().String()
	o.listen = "unix:" + filepath.Join(o.dir, "api")
	return o, nil
}

func (o *organisation) file() string { return filepath.Join(o.dir, "conch.toml") }

// write writes the node's configuration. Without a table of the contract it has the account alone.
func (o *organisation) write(id uint64, peers []*organisation, l *network.Network, table string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "[node]\ndata_dir = %s\n[[chains]]\nname = \"private\"\nkind = \"evm\"\nurl = %s\nchain_id = %d\n"+
		"[[accounts]]\nname = \"ops\"\nchain = \"private\"\nkeystore = \"account.json\"\npassword_file = \"password\"\n", quoted(filepath.Join(o.dir, "data")), quoted(o.chain), id)
	if table != "" {
		fmt.Fprintf(&b, "[identity]\nname = %s\nlisten = %s\nkey = \"identity.pem\"\n", quoted(o.name), quoted(cmp.Or(o.address, "127.0.0.1:0")))
		if o.ca != "" {
			fmt.Fprintf(&b, "certificate = \"certificate.pem\"\nca = %s\n", quoted(o.ca))
		}
		for _, p := range peers {
			if p == o {
				continue
			}
			fmt.Fprintf(&b, "[[peers]]\nname = %s\nurl = %s\n", quoted(p.name), quoted("https://"+cmp.Or(l.Way(o.name, p.name), p.address)))
			if o.ca == "" {
				fmt.Fprintf(&b, "key = %s\n", quoted(p.fingerprint))
			}
		}
		b.WriteString(table)
	}
	return os.WriteFile(o.file(), []byte(b.String()), 0o600)
}

// quoted returns a text as a JSON string, which is also valid TOML.
func quoted(text string) string {
	out, _ := json.Marshal(text) //nolint:errchkjson // a text has a form
	return string(out)
}

// environment is a program's, without the caller's settings of conch.
func environment(db string) []string {
	rest := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "CONCH_") })
	return append(rest, "CONCH_DB_URL="+db)
}

// start starts the node. The links lead to it as soon as it says where it listens.
func (o *organisation) start(program string, launcher *fleet.Launcher, l *network.Network, news chan<- ended) error {
	// No context: a node ends by a signal, and its end is news.
	cmd := exec.CommandContext(context.Background(), program, "node", "--config", o.file(), "--id", o.name+"-1", "--listen", o.listen,
		"--log-format", "json", "--log-level", cmp.Or(o.level, "info"))
	p := &process{cmd: cmd, words: &fleet.LastLine{}}
	cmd.Env, cmd.WaitDelay = append(environment(o.db), o.clock.Env()...), teardown
	cmd.Stderr = io.MultiWriter(p.words, o.log, &ear{hear: func(line spoken) {
		if line.Message == "the node of the contracts runs" {
			l.Lead(o.name, line.Listen)
		}
		if line.Reason == string(mtls.Expired) && o.refusals != nil {
			o.refusals.Add(1)
		}
	}})
	if err := launcher.Start(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", o.name, err)
	}
	p.pid = cmd.Process.Pid
	o.process, o.back = p, time.Time{}
	go func() {
		_ = cmd.Wait() // the reason is known: we ended it, or its last words say it
		news <- ended{o, p}
	}()
	return nil
}

// signal sends a signal to the node by its handle. The node may have ended.
func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// spoken is what is used of a line of a node's log.
type spoken struct {
	Message string `json:"msg"`
	Listen  string `json:"listen"`
	Reason  string `json:"reason"`
}

// ear hears the lines of a log.
type ear struct {
	hear func(spoken)
	rest []byte // an incomplete line
}

// longestLine is longer than any line that is heard.
const longestLine = 64 << 10

// Write never fails.
func (e *ear) Write(b []byte) (int, error) {
	e.rest = append(e.rest, b...)
	for {
		line, rest, whole := strings.Cut(string(e.rest), "\n")
		if !whole {
			break
		}
		var s spoken
		if json.Unmarshal([]byte(line), &s) == nil {
			e.hear(s)
		}
		e.rest = []byte(rest)
	}
	if len(e.rest) > longestLine {
		e.rest = nil
	}
	return len(b), nil
}
