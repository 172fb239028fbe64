//go:build unix

package consortium

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgnotes"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// connections is the maximum per node.
const connections = 40

// site has the servers and files of a run, the organisations, and what is between them.
type site struct {
	cfg      Config
	postgres *postmaster.Server
	chain    *devnode.Node
	launcher *fleet.Launcher
	links    links
	all      []*organisation
	news     chan ended
	logs     []io.Closer
	contract string // its address
}

// prepare starts the servers, founds the organisations and deploys their contract. The caller clears up, also after an
// error.
func (s *site) prepare(ctx context.Context, say func(string, ...any)) (err error) {
	s.launcher, s.news = fleet.NewLauncher(), make(chan ended, len(members))
	say("starting a private Postgres with a database for each of %d organisations …", len(members))
	if s.postgres, err = postmaster.Start(ctx, postmaster.Config{MaxConnections: 50 + connections*len(members)}); err != nil {
		return err
	}
	if err := s.databases(ctx); err != nil {
		return err
	}
	say("starting a private chain …")
	if s.chain, err = devnode.Start(ctx, s.cfg.Devnode, "--block-time", blockTime); err != nil {
		return err
	}
	say("making their accounts and identities …")
	if err := s.found(say); err != nil {
		return err
	}
	say("%s pays for the others and deploys the contract; this takes some blocks …", members[0])
	table, err := s.deploy(ctx)
	if err != nil {
		return err
	}
	say("the contract is %s; %d of %d members have to endorse", s.contract, needed, len(members))
	for _, o := range s.all {
		if err := o.write(s.chain.HTTP, s.chain.ChainID, s.all, s.links, table); err != nil {
			return err
		}
	}
	return nil
}

// databases makes one for each organisation.
func (s *site) databases(ctx context.Context) error {
	const template = "organisation"
	if err := pgnotes.Create(ctx, s.postgres.URL("postgres"), template); err != nil {
		return err
	}
	if err := node.SchemaUp(ctx, pgmint.Config{URL: s.postgres.URL(template)}, s.cfg.Kinds, func(string) {}); err != nil {
		return err
	}
	return pgnotes.Copy(ctx, s.postgres.URL("postgres"), template, members...)
}

func (s *site) found(say func(string, ...any)) error {
	// If the demo is killed, the next start removes this folder with the server's.
	dir, err := s.postgres.Folder("consortium")
	if err != nil {
		return err
	}
	if s.links, err = newLinks(members); err != nil {
		return err
	}
	for i, name := range members {
		key := "" // a new one
		if i == 0 {
			key = s.chain.PrivateKey // it has money
		}
		o, err := found(dir, name, key)
		if err != nil {
			return err
		}
		o.db = s.postgres.URL(name)
		if s.cfg.Logs != "" {
			file, err := os.OpenFile(filepath.Join(s.cfg.Logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			o.log, s.logs = file, append(s.logs, file)
		}
		s.all = append(s.all, o)
	}
	if err := s.open(say); err != nil {
		return err
	}
	for _, o := range s.all {
		o.api = newAPI(o.listen)
	}
	return nil
}

// open gives the first organisation's API the address that the user has chosen, if it is free.
func (s *site) open(say func(string, ...any)) error {
	addr := s.cfg.Listen
	if addr == "" {
		return nil
	}
	if err := web.CheckListen(addr, false, false); err != nil {
		return err
	}
	probe, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		say("nothing is served at %s: %v", addr, err)
		return nil
	}
	s.all[0].listen = probe.Addr().String()
	say("while it runs: conch contract list --node http://%s", s.all[0].listen)
	return probe.Close()
}

// deploy has the first organisation's node pay for the others and create the contract. It returns the table for the
// members' configurations, as conch contract deploy prints it.
func (s *site) deploy(ctx context.Context) (table string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, warmup, fmt.Errorf("the contract was not deployed within %s", warmup))
	defer cancel()
	first := s.all[0]
	if err := first.write(s.chain.HTTP, s.chain.ChainID, nil, nil, ""); err != nil {
		return "", err
	}
	if err := first.start(s.cfg.Program, s.launcher, s.links, s.news); err != nil {
		return "", err
	}
	for _, o := range s.all[1:] {
		if err := s.fund(ctx, first, o); err != nil {
			return "", err
		}
	}
	url := first.listen
	if !strings.HasPrefix(url, "unix:") {
		url = "http://" + url
	}
	args := []string{
		"contract", "deploy", "--node", url, "--account", "ops", "--issuer", first.name, "--endorsement", fmt.Sprint(needed),
		"--range-size", fmt.Sprint(rangeSize), "--key", "demo",
	}
	for _, o := range s.all {
		args = append(args, "--member", o.name+"="+o.account)
	}
	if table, err = s.run(ctx, args...); err != nil {
		return "", err
	}
	if _, rest, found := strings.Cut(table, `address     = "`); found {
		s.contract, _, _ = strings.Cut(rest, `"`)
	}
	if s.contract == "" {
		return "", fmt.Errorf("conch contract deploy has printed no address: %s", table)
	}
	return strings.Replace(table, `account     = ""`, `account     = "ops"`, 1), s.end(ctx, first)
}

// fund has the first organisation pay another one, whose node pays for what it sends.
func (s *site) fund(ctx context.Context, first, o *organisation) error {
	body := map[string]string{"account": "ops", "to": o.account, "value": "1000000000000000000", "idempotency_key": "fund-" + o.name}
	var sent struct{ ID, Fate string }
	if err := untilAnswered(ctx, func() error { return first.api.ask(ctx, http.MethodPost, "/v1/transactions", body, &sent) }); err != nil {
		return fmt.Errorf("paying %s: %w%s", o.name, err, first.lastWords())
	}
	return untilAnswered(ctx, func() error {
		if err := first.api.ask(ctx, http.MethodGet, "/v1/transactions/"+sent.ID, nil, &sent); err != nil {
			return err
		}
		if sent.Fate != "done" {
			return fmt.Errorf("the payment to %s is %s", o.name, sent.Fate)
		}
		return nil
	})
}

// untilAnswered tries something again until it succeeds, is refused, or the context ends.
func untilAnswered(ctx context.Context, do func() error) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := do()
		if _, refused := errors.AsType[*refusedError](err); err == nil || refused {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// run runs a command of conch and returns what it prints.
func (s *site) run(ctx context.Context, args ...string) (string, error) {
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, s.cfg.Program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = environment(""), &out, &words, teardown
	err := s.launcher.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("conch %s: %w: %s", strings.Join(args[:2], " "), err, words.String())
	}
	return out.String(), nil
}

// end ends a node in order, and waits for it.
func (s *site) end(ctx context.Context, o *organisation) error {
	if err := o.process.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.news:
		o.process = nil
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (o *organisation) lastWords() string {
	text := o.words
	if o.process != nil {
		text = o.process.words.String()
	}
	if text == "" {
		return ""
	}
	return "; " + o.name + " says: " + text
}

// endAll ends all nodes, in order within the patience, then by SIGKILL, and returns when none is left.
func (s *site) endAll(patience time.Duration) {
	alive := 0
	for _, o := range s.all {
		if o.process != nil {
			alive++
			_ = o.process.signal(syscall.SIGCONT)
			_ = o.process.signal(syscall.SIGTERM)
		}
	}
	hurry := time.NewTimer(patience)
	defer hurry.Stop()
	for alive > 0 {
		select {
		case n := <-s.news:
			if n.of.process == n.from {
				n.of.words, n.of.process = n.from.words.String(), nil
				alive--
			}
		case <-hurry.C:
			for _, o := range s.all {
				if o.process != nil {
					_ = o.process.signal(syscall.SIGKILL)
				}
			}
		}
	}
}

// clear ends everything and removes the folders.
func (s *site) clear() error {
	s.endAll(0)
	for _, o := range s.all {
		if o.api != nil {
			o.api.close()
		}
	}
	s.links.close()
	if s.chain != nil {
		s.chain.Stop()
	}
	s.launcher.Close()
	var faults []error
	if s.postgres != nil {
		faults = append(faults, s.postgres.Stop())
	}
	for _, l := range s.logs {
		faults = append(faults, l.Close())
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("clearing up: %w", err)
	}
	return nil
}
