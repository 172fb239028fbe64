//go:build unix

package consortium

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/conchhq/conch/cmd/conch/internal/lab/attacker"
	"github.com/conchhq/conch/cmd/conch/internal/lab/authority"
	"github.com/conchhq/conch/cmd/conch/internal/lab/network"
	"github.com/conchhq/conch/cmd/conch/internal/lab/oldhead"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgnotes"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// connections is the maximum per node.
const connections = 40

// site has the servers and files of a run, the organisations, and what is between them.
type site struct {
	stage.Site
	*stage.Cast[*organisation]

	cfg      Config
	links    *network.Network
	contract string // its address
	terms    terms

	// In chaos.
	old     *oldhead.Proxy
	behind  *organisation // that asks the chain by way of the proxy
	turned  *organisation // whose clock can be turned
	noClock error         // why it cannot
	bandit  *attacker.Attacker
	papers  *authority.Authority // by which the organisations know each other; nil: by fingerprints

	refusals atomic.Int64 // of certificates that have ended
}

// prepare starts the servers, founds the organisations and deploys their contract. The caller clears up, also after an
// error.
func (s *site) prepare(ctx context.Context, say func(string, ...any)) (err error) {
	say("starting a private Postgres with a database for each of %d organisations …", len(members))
	if err := s.StartPostgres(ctx, postmaster.Config{MaxConnections: 50 + connections*len(members)}); err != nil {
		return err
	}
	if err := s.databases(ctx); err != nil {
		return err
	}
	say("starting a private chain …")
	if err := s.StartChain(ctx, s.cfg.Devnode, "--block-time", blockTime); err != nil {
		return err
	}
	say("making their accounts and identities …")
	if err := s.found(ctx, say); err != nil {
		return err
	}
	say("%s pays for the others and deploys the contract; this takes some blocks …", members[0])
	table, err := s.deploy(ctx)
	if err != nil {
		return err
	}
	if err := s.attackers(ctx); err != nil {
		return err
	}
	say("the contract is %s; %d of %d members have to endorse", s.contract, needed, len(members))
	for _, o := range s.All {
		if err := o.write(s.Chain.ChainID, s.All, s.links, table); err != nil {
			return err
		}
	}
	return nil
}

// databases makes one for each organisation.
func (s *site) databases(ctx context.Context) error {
	const template = "organisation"
	if err := pgnotes.Create(ctx, s.Postgres.URL("postgres"), template); err != nil {
		return err
	}
	if err := node.SchemaUp(ctx, pgmint.Config{URL: s.Postgres.URL(template)}, s.cfg.Kinds, func(string) {}); err != nil {
		return err
	}
	return pgnotes.Copy(ctx, s.Postgres.URL("postgres"), template, members...)
}

func (s *site) found(ctx context.Context, say func(string, ...any)) error {
	// If the demo is killed, the next start removes this folder with the server's.
	dir, err := s.Postgres.Folder("consortium")
	if err != nil {
		return err
	}
	if err := s.lay(); err != nil {
		return err
	}
	if s.cfg.Chaos != nil { // fingerprints have no end
		if s.papers, err = authority.New(filepath.Join(dir, "ca.pem")); err != nil {
			return err
		}
	}
	for i, name := range members {
		key := "" // a new one
		if i == 0 {
			key = s.Chain.PrivateKey // it has money
		}
		o, err := found(dir, name, key)
		if err != nil {
			return err
		}
		o.db = s.Postgres.URL(name)
		if s.cfg.Logs != "" {
			file, err := os.OpenFile(filepath.Join(s.cfg.Logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			o.log = file
			s.Afterwards(file.Close)
		}
		o.refusals = &s.refusals
		if err := s.certify(o, authority.Lasting); err != nil {
			return err
		}
		s.All = append(s.All, o)
	}
	if err := s.open(ctx, say); err != nil {
		return err
	}
	for _, o := range s.All {
		s.knows(o)
		o.chain = s.Chain.HTTP
	}
	return s.arm(ctx)
}

// lay makes a relay from each organisation to each of its peers: what the first one's [[peers]] names.
func (s *site) lay() error {
	s.links = &network.Network{}
	s.Afterwards(func() error { s.links.Close(); return nil })
	for _, from := range members {
		for _, to := range members {
			if from == to {
				continue
			}
			if err := s.links.Between(from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// open gives the first organisation's API the address that the user has chosen, if it is free.
func (s *site) open(ctx context.Context, say func(string, ...any)) error {
	at, err := stage.Seat(ctx, s.cfg.Listen, say)
	if err != nil || at == "" {
		return err
	}
	s.All[0].listen = at
	say("look at http://%s/ while it runs: the dashboard of %s", at, s.All[0].Name)
	say("while it runs: conch contract list --node http://%s", at)
	return nil
}

// knows makes a client of the organisation's API.
func (s *site) knows(o *organisation) {
	o.api = newAPI(o.listen)
	s.Afterwards(func() error { o.api.Close(); return nil })
}

// start starts a node.
func (s *site) start(o *organisation) error { return s.Start(o, o.command(s.cfg.Program, s.links)) }

// end ends a node in order, and waits for it.
func (s *site) end(ctx context.Context, o *organisation) error {
	o.Process.Signal(syscall.SIGTERM)
	err := o.Process.Wait(ctx)
	if err == nil {
		o.Bury()
	}
	return err
}

// clear ends everything and removes the folders.
func (s *site) clear() error {
	s.End(0)
	return s.Clear()
}
