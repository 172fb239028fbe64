//go:build unix

package transactions

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

// livingEnv has the settings of a process that is a whole node, as JSON: it sends from an account of a chain that another process serves,
// where what is signed wears out and accounts cease to exist. No driver that ships knows such a chain.
const livingEnv = "CONCH_TEST_LIVING"

type livingSettings struct{ ID, Database, Chain string }

const livingScope = "pending:living"

var livingAccount = Account{Name: "payer", Chain: Chain{Name: "living", Kind: KindEVM, ChainID: 1}, Scope: livingScope, Address: chaintest.Address("payer")}

// livingNode is the main function of such a process, if it is one.
func livingNode(text string) error {
	var s livingSettings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with the test
		os.Exit(1)
	}()
	cfg := config.Config{
		Node:     config.Node{Listen: "127.0.0.1:0"},
		Database: pgmint.Config{URL: s.Database}, Named: true,
		Election: election.Config{ID: s.ID, Lease: time.Second, Takeover: mint.Strict},
		Sections: []config.Section{&Section{chains: []Chain{livingAccount.Chain}, accounts: []Account{livingAccount}}},
	}
	dial := func(Chain) (chain.Chain, error) { return chaintest.Dial(s.Chain), nil }
	return node.Run(ctx, node.Options{Config: cfg, Log: slog.New(slog.NewTextHandler(os.Stdout, nil)), Kinds: []node.Kind{kindOf(dial)}})
}

// livingProcess is a node that runs.
type livingProcess struct {
	*proctest.Process
	id   string
	line *chaintest.Line // its endpoint of the chain
	log  *nodetest.Log
	api  string // where its transactions are
}

// livingProcesses are the nodes over one database, and the chain that serves each an endpoint.
type livingProcesses struct {
	t      *testing.T
	chain  *chaintest.Node
	db     *pgtest.DB
	conn   *pgx.Conn // of the test's own goroutine
	server *httptest.Server

	mu    sync.Mutex
	runs  map[string]*livingProcess // by their IDs
	lines map[string]http.Handler   // by the first part of the path
	ended []*livingProcess
}

func newLivingProcesses(t *testing.T, c *chaintest.Node, ids ...string) *livingProcesses {
	t.Helper()
	p := &livingProcesses{t: t, chain: c, db: pgtest.New(t), runs: map[string]*livingProcess{}, lines: map[string]http.Handler{}}
	p.conn = p.db.Connect(t)
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
		if t.Failed() {
			p.complain()
		}
	})
	for _, id := range ids {
		p.start(id)
	}
	return p
}

// complain says what the nodes had to say.
func (p *livingProcesses) complain() {
	for _, one := range p.ended {
		for _, line := range one.log.Lines() {
			if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") {
				p.t.Log(one.id, line)
			}
		}
	}
}

// serve serves a line to the process that has its name.
func (p *livingProcesses) serve(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	p.mu.Lock()
	handler := p.lines[name]
	p.mu.Unlock()
	if handler == nil {
		http.NotFound(w, r)
		return
	}
	http.StripPrefix("/"+name, handler).ServeHTTP(w, r)
}

// start starts a node, with a new endpoint.
func (p *livingProcesses) start(id string) {
	p.t.Helper()
	one := &livingProcess{id: id, line: p.chain.Line(), log: &nodetest.Log{}}
	p.mu.Lock()
	name := fmt.Sprint(id, "-", len(p.lines))
	p.lines[name], p.ended = chaintest.Serve(one.line), append(p.ended, one)
	p.mu.Unlock()
	settings, err := json.Marshal(livingSettings{ID: id, Database: p.db.URL, Chain: p.server.URL + "/" + name})
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdout, cmd.Stderr = append(cmd.Environ(), livingEnv+"="+string(settings)), one.log, one.log
	if _, err := cmd.StdinPipe(); err != nil { // it is closed when this process ends
		p.t.Fatal(err)
	}
	one.Process = proctest.Start(p.t, cmd)
	one.api = "http://" + one.log.Find(p.t, `msg="serving the API" address=(\S+)`) + "/v1/transactions"
	p.mu.Lock()
	p.runs[id] = one
	p.mu.Unlock()
}

// all returns the nodes that run.
func (p *livingProcesses) all() (all []*livingProcess) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.runs {
		all = append(all, one)
	}
	return all
}

// leader waits until a node leads in a later epoch than that.
func (p *livingProcesses) leader(after int64) (one *livingProcess, epoch int64) {
	p.t.Helper()
	pgtest.Eventually(p.t, nodetest.Patience, "a node leads", func() bool {
		var id string
		err := p.conn.QueryRow(p.t.Context(), `SELECT holder, epoch FROM conch.leadership WHERE scope = $1 AND NOT released`, livingScope).Scan(&id, &epoch)
		p.mu.Lock()
		defer p.mu.Unlock()
		one = p.runs[id]
		return err == nil && epoch > after && one != nil
	})
	return one, epoch
}

// bury waits for the end of a node that was killed, and starts it again.
func (p *livingProcesses) bury(one *livingProcess) {
	p.t.Helper()
	p.mu.Lock()
	delete(p.runs, one.id)
	p.mu.Unlock()
	one.Wait(nodetest.Patience)
	p.start(one.id)
}

// ambush kills the leader with signal 9 in the moment in which it hands signed bytes to the chain: before they get there, or before it has
// the answer. Another one leads after it.
func (p *livingProcesses) ambush(before bool) {
	p.t.Helper()
	_, epoch := p.leader(0)
	killed := make(chan *livingProcess, 1)
	var once sync.Once
	for _, one := range p.all() { // on a busy machine another one may lead by then
		one.line.Watch(func(call string) {
			if call == "Submit" {
				once.Do(func() {
					one.Kill()
					one.line.SetDown(before)
					killed <- one
				})
			}
		})
	}
	pgtest.Within(p.t, nodetest.Patience, "a leader hands something to the chain", func() { p.bury(<-killed) })
	p.leader(epoch)
}

// freeze stops the leader for longer than its lease, and lets it go on while another one leads.
func (p *livingProcesses) freeze() {
	p.t.Helper()
	one, epoch := p.leader(0)
	one.Signal(syscall.SIGSTOP)
	p.leader(epoch)
	one.Signal(syscall.SIGCONT)
}
