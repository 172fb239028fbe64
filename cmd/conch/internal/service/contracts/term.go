package contracts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/transport/mtls"
)

// lookups is the most database connections for reading; two more write.
const lookups = 4

// term is the organisation's node while this process leads it.
type term struct {
	log      *slog.Logger
	section  Section // with which it began
	node     *sequencer.Node
	endpoint *mtls.Endpoint
	spans    map[string]span // by account
	closes   []func()        // what was opened, the last one first
}

func (t *term) close() {
	for _, c := range slices.Backward(t.closes) {
		c()
	}
}

// lead runs the node until the term ends. Nothing of it is under way when it returns.
func (s *service) lead(ctx context.Context, l election.Leadership) error {
	s.mu.Lock()
	section := s.section
	s.mu.Unlock()
	t := &term{log: s.frame.Log, section: section, spans: map[string]span{}}
	defer t.close()
	store, err := s.store(ctx, t, l)
	if err != nil {
		return err
	}
	cfg, err := s.assemble(t, section)
	if err != nil {
		if ctx.Err() == nil {
			t.log.Error("cannot run the node of the contracts", slog.Any("error", err))
		}
		return err
	}
	cfg.Store = store
	if t.node, err = sequencer.New(cfg); err != nil {
		return err
	}
	listening := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		listening <- t.endpoint.Run(ctx)
	}()
	var forgetting sync.WaitGroup
	forgetting.Go(func() { t.forget(ctx) })
	s.set(t)
	t.log.Info("the node of the contracts runs", slog.String("organisation", section.self()), slog.String("listen", t.endpoint.Addr().String()),
		slog.String("fingerprint", t.endpoint.Fingerprint().String()), slog.Int64("epoch", l.Token.Epoch), slog.Int("contracts", len(section.contracts)))
	err = t.node.Run(ctx)
	s.set(nil)
	stop()
	forgetting.Wait()
	if fault := <-listening; fault != nil {
		return fault
	}
	if errors.Is(err, context.Canceled) {
		return nil // the elector ended the term and knows why
	}
	return err
}

func (s *service) set(t *term) {
	s.mu.Lock()
	s.term = t
	s.mu.Unlock()
	s.announce(t != nil)
}

// store begins this start of the node in the database.
func (s *service) store(ctx context.Context, t *term, l election.Leadership) (*pgstore.Store, error) {
	db, err := pgstore.Open(ctx, s.frame.Database.Connection(" contracts"), lookups)
	if err != nil {
		return nil, err
	}
	t.closes = append(t.closes, db.Close)
	if err := db.Check(ctx); err != nil {
		t.log.Error("the contracts cannot be kept", slog.Any("error", err))
		return nil, err
	}
	return db.Begin(ctx, l.Token)
}

// assemble opens what the node needs besides its store.
func (s *service) assemble(t *term, section Section) (sequencer.Config, error) {
	cfg := sequencer.Config{Peers: map[ledger.Account]string{}, Log: s.frame.Log, Told: s.teller(section)}
	for _, a := range section.contracts {
		account, err := s.frame.Accounts.Find(a.Account)
		if err != nil {
			return cfg, fmt.Errorf("contract %s: %w", a.Address, err)
		}
		self := a.accountOf(section.self())
		if ledger.Account(account.Address) != self {
			return cfg, fmt.Errorf("contract %s: the account %q is %v, and this node's account there is %v: correct one of them", a.Address, a.Account, account.Address, self)
		}
		if account.Sign == nil {
			return cfg, fmt.Errorf("contract %s: the key of %q is in an external signer, which signs transactions alone: name an account with a keystore", a.Address, a.Account)
		}
		t.spans[a.Account] = span{account.Calls, t.spans[a.Account].age}.with(a)
		k, err := s.contract(t, a, account)
		if err != nil {
			return cfg, fmt.Errorf("contract %s: %w", a.Address, err)
		}
		cfg.Contracts = append(cfg.Contracts, k)
		cfg.Self, cfg.Keys = self, keys{account}
		for _, name := range a.Members {
			if member := a.accountOf(name); member != self {
				cfg.Peers[member] = name
			}
		}
		if warning := k.Declared.Warning(); warning != "" {
			t.log.Warn(warning, slog.String("contract", a.Address))
		}
	}
	var err error
	if cfg.Secret, err = secret(cfg.Keys); err != nil {
		return cfg, err
	}
	if t.endpoint, err = mtls.New(section.peers.Endpoint(s.frame.Log)); err != nil {
		return cfg, node.PeersUnheard(section.peers.Identity.Listen, err)
	}
	cfg.Transport = t.endpoint
	return cfg, nil
}

// contract prepares a contract. Its chain is asked when the node opens it.
func (s *service) contract(t *term, a Agreed, account node.Account) (k sequencer.Contract, err error) {
	rules, err := rulesOf(a)
	if err != nil {
		return k, err
	}
	line, release, err := account.Dial()
	if err != nil {
		return k, err
	}
	t.closes = append(t.closes, release)
	endpoints, err := evm.Dial(account.Endpoints)
	if err != nil {
		return k, err
	}
	t.closes = append(t.closes, endpoints.Close)
	c := declaration(a, account.ID)
	k = sequencer.Contract{Declared: c, Rules: rules, Scheme: evm.Scheme{}, NudgeAfter: a.NudgeAfter, ForgetAfter: a.ForgetAfter}
	k.Ledger = newDistant(evm.Config{Contract: c, Node: endpoints, Chain: line, Self: ledger.Account(account.Address), Submitter: submitter{account.Calls}})
	return k, nil
}

// reload takes other peers.
func (t *term) reload(s Section) error { return t.endpoint.Reload(s.peers.Endpoint(t.log)) }

// keys are those of the node's account.
type keys struct{ account node.Account }

// Sign implements sequencer.Keys.
func (k keys) Sign(h ledger.Hash) ([]byte, error) { return k.account.Sign(h) }

// secret is what salts are made of: known to all that have the key, the same at each start and in each process of the
// organisation.
func secret(k sequencer.Keys) ([32]byte, error) {
	signature, err := k.Sign(sha256.Sum256([]byte("conch sequencer: the secret of this node's salts")))
	if err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256(signature), nil
}
