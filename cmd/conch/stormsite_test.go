//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/proctest"
)

const (
	stormDatabase = "conch" // of each organisation, on a server of its own
	stormBlock    = time.Second
	stormRange    = 100 // blocks, as conch contract deploy has it
	stormLife     = stormRange / 2
	stormPurses   = 6
	// So much is in each purse that payments seldom wait, and so little that each is made of those before it, which are still
	// under way: with 250 a note no storm was ever seen.
	stormNotes  = 4
	stormAmount = 20
)

// storm is a contract of five organisations whose nodes, databases and connections are harmed while they pay.
type storm struct {
	*parties

	t       *testing.T
	logs    string
	rand    *rand.Rand
	servers []*postmaster.Server
	wires   []*tcpproxy.Proxy // between a node and its server
	apis    []string
	homes   []string // where each node listens for its peers
	ways    map[[2]int]*tcpproxy.Proxy
	blocks  int // of a range; a grant lives for half of it
	liar    int // the organisation that lies; -1: none
	seed    uint64
	whole   time.Time // since when the liar has told all of its lie

	mu       sync.Mutex
	payments []*stormPayment
	heads    []time.Time // when each block was there
	restored int         // the organisation whose database was put back; -1: none
	copied   time.Time   // when that copy was made: what was accepted from then on is forgotten
	back     time.Time   // and put back
	lies     []stormFault
	heard    map[string]bool // the lies that were told, by their names and what they are about
}

// newStorm starts five nodes, of which one may lie. Between any two of them are two proxies, one for each that dials.
func newStorm(t *testing.T, seed uint64, blocks, liar int) *storm {
	t.Helper()
	s := &storm{
		parties: &parties{t: t, chain: startDevnode(t, "--block-time", stormBlock.String())},
		t:       t, logs: t.ArtifactDir(), rand: rand.New(rand.NewPCG(seed, 43)), ways: map[[2]int]*tcpproxy.Proxy{}, restored: -1,
		blocks: blocks, liar: liar, seed: seed, heard: map[string]bool{},
	}
	for i, name := range []string{"bank", "north", "east", "south", "west"} {
		server := pgtest.Own(t, postmaster.Config{})
		s.servers = append(s.servers, server)
		s.admin(i, "CREATE DATABASE "+stormDatabase)
		conch(t, "--db", server.URL(stormDatabase), "migrate", "up").done(t)
		way, url := pgtest.Proxy(t, server, stormDatabase)
		s.wires = append(s.wires, way)
		s.join(name, url)
		s.apis, s.homes = append(s.apis, freeAddress(t)), append(s.homes, freeAddress(t))
	}
	s.deploy(3, []string{"--range-size", fmt.Sprint(blocks), "--life", fmt.Sprint(blocks / 2)})
	for i, o := range s.all {
		for j := range s.all {
			if j != i {
				s.ways[[2]int{j, i}] = proxied(t, s.homes[i])
			}
		}
		log, err := os.Create(filepath.Join(s.logs, o.name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		o.kept = log
		if i == liar {
			o.program, o.kept = builtLiar(t), io.MultiWriter(log, proctest.Cut(s.hears))
		}
	}
	for i, o := range s.all {
		o.write(s.fileOf(i))
		o.start()
	}
	for i := range s.all {
		pgtest.Eventually(t, longPatience, "the nodes run", func() bool { _, err := s.status(i); return err == nil })
	}
	return s
}

// freeAddress returns an address at which a node can listen again after its death.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := fleet.LowPort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// fileOf is the configuration of one organisation, which dials each of the others by a proxy of its own.
func (s *storm) fileOf(i int) string {
	o := s.all[i]
	text := fileOf(o.db, fmt.Sprintf("listen = %q\n", s.apis[i])+s.accounts()) +
		fmt.Sprintf("[identity]\nname = %q\nlisten = %q\nkey = \"identity.pem\"\n", o.name, s.homes[i])
	for j, other := range s.all {
		if j != i {
			text += fmt.Sprintf("[[peers]]\nname = %q\nurl = \"https://%s\"\nkey = %q\n", other.name, s.ways[[2]int{i, j}].Addr(), other.fingerprint)
		}
	}
	return text + s.table
}

// admin has the server of an organisation carry out statements, one by one.
func (s *storm) admin(i int, statements ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), longPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.servers[i].URL("postgres"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			s.t.Fatalf("%s: %v", sql, err)
		}
	}
}

// until waits for an instant of the plan.
func (s *storm) until(at time.Time) {
	select {
	case <-time.After(time.Until(at)):
	case <-s.t.Context().Done():
	}
}

// coordinator returns the organisation that works: it has sent the newest transaction to the contract.
func (s *storm) coordinator() int {
	s.t.Helper()
	head := number(s.t, s.chain.call("eth_blockNumber"))
	for n := head; n > 0 && n+20 > head; n-- {
		block, _ := s.chain.call("eth_getBlockByNumber", hexed(n), true).(map[string]any)
		sent, _ := block["transactions"].([]any)
		for _, tx := range slices.Backward(sent) {
			tx, _ := tx.(map[string]any)
			if to, _ := tx["to"].(string); strings.EqualFold(to, s.address) {
				return s.place(fmt.Sprint(tx["from"]))
			}
		}
	}
	return s.rand.IntN(len(s.all))
}

// place returns which organisation has an account.
func (s *storm) place(account string) int {
	return slices.IndexFunc(s.all, func(o *organisation) bool { return strings.EqualFold(o.account.String(), account) })
}

// another returns an organisation that does not coordinate.
func (s *storm) another() int {
	return (s.coordinator() + 1 + s.rand.IntN(len(s.all)-1)) % len(s.all)
}

func (s *storm) kill(i int) { s.all[i].stop(syscall.SIGKILL) }

// cut parts two organisations from the other three: neither side is told.
func (s *storm) cut(i, j int) {
	for way, proxy := range s.ways {
		if (way[0] == i || way[0] == j) != (way[1] == i || way[1] == j) {
			proxy.Blackhole(tcpproxy.Both)
		}
	}
}

func (s *storm) heal() {
	for _, proxy := range s.ways {
		proxy.Heal()
	}
}

// stormEntry is an attempt to carry out a payment, as the chain has it.
type stormEntry struct {
	Block    uint64
	At       time.Time
	Sender   string // the coordinator's account
	Owner    string
	Sequence string
	Payload  string
	Attempt  string
	Landed   bool
	Reason   int // why it was skipped
	Until    uint64
	Needs    []string // states that it spends or reads
	Spends   []string
	Makes    []string
}

// stormReasons are the contract's, by their numbers.
var stormReasons = []string{"taken", "malformed", "not a member", "repeated", "expired", "not granted", "not endorsed", "missing"}

// asks asks the chain's node.
func (d *devnode) asks(out any, method string, args ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		return err
	}
	text, err := d.takes(body)
	if err != nil {
		return err
	}
	var said struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(text, &said); err != nil || said.Error != nil {
		return fmt.Errorf("%s: %w %s", method, err, said.Error)
	}
	return json.Unmarshal(said.Result, out)
}

// watches notes when each block was there, until the context ends: a block's own timestamp is in seconds, and there are several in
// one.
func (s *storm) watches(ctx context.Context) {
	for ctx.Err() == nil {
		var head string
		if s.chain.asks(&head, "eth_blockNumber") == nil {
			n, _ := strconv.ParseUint(strings.TrimPrefix(head, "0x"), 16, 64)
			s.mu.Lock()
			for now := time.Now(); uint64(len(s.heads)) <= n; {
				s.heads = append(s.heads, now)
			}
			s.mu.Unlock()
		}
		select {
		case <-time.After(stormBlock / 5):
		case <-ctx.Done():
		}
	}
}

// entries reads what the chain has of the contract, with the time at which each block was seen, and the gas that it has cost.
func (s *storm) entries() (all []stormEntry, gas uint64) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), longPatience)
	defer cancel()
	l, err := explorer.ReadContract(ctx, s.chain.url, s.address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range l.Entries {
		if e.Event == auditor.Cancelled || e.Block >= uint64(len(s.heads)) { // nobody of this test cancels, and the fates would tell
			continue
		}
		one := stormEntry{
			Block: e.Block, At: s.heads[e.Block], Sender: e.Sender, Owner: e.Owner, Sequence: e.Sequence, Payload: e.Payload, Attempt: e.Attempt,
			Landed: e.Event == auditor.Landed, Reason: int(e.Reason), Until: e.Until, Needs: slices.Concat(e.Inputs, e.Reads), Spends: e.Inputs,
		}
		for _, o := range e.Outputs {
			one.Makes = append(one.Makes, o.State)
		}
		all = append(all, one)
	}
	return all, l.Gas
}
