package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	driver "github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/pending"
	transactions "github.com/conchhq/conch/pending/pgstore"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/transport/mtls"
)

// organisation is one member while this process leads its scope.
type organisation struct {
	settings
	mint pgmint.Config
	done func() // of a deployment

	key     *driver.Keystore
	line    *driver.Chain
	queue   *transactions.Store // of the account's transactions
	manager *pending.Manager    // sends them
}

// Sign implements sequencer.Keys.
func (o *organisation) Sign(h ledger.Hash) ([]byte, error) { return o.key.SignHash(h) }

func (o *organisation) accept(ctx context.Context, in pending.Intent) (pending.Intent, error) {
	in.Account = o.key.Account()
	in, err := o.queue.Accept(ctx, in)
	o.manager.Wake()
	return in, err
}

// open sends the account's transactions while it does its work, both under the leader's token.
func (o *organisation) open(ctx context.Context, l election.Leadership, work func(context.Context, election.Leadership) error) (err error) {
	if o.key, err = driver.OpenKeystore(o.Keystore, o.Password); err != nil {
		return err
	}
	if ledger.Account(o.key.Account()) != o.accountOf(o.Name) {
		return fmt.Errorf("the key is of %v, and the account of %s is %v", o.key.Account(), o.Name, o.accountOf(o.Name))
	}
	if o.line, err = driver.New(driver.Config{URL: o.Chain, ChainID: o.ChainID, Signers: []driver.Signer{o.key}, Depth: o.declaration().Depth}); err != nil {
		return err
	}
	defer o.line.Close()
	db, err := transactions.Open(ctx, o.mint.Connection(" transactions"), 4)
	if err != nil {
		return err
	}
	defer db.Close()
	o.queue = db.Store(fmt.Sprintf("evm:%d", o.ChainID), o.Name)
	if o.manager, err = pending.New(pending.Config{Account: o.key.Account(), Chain: o.line, Store: o.queue}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer stop()
	sending.Go(func() {
		defer stop() // without it nothing more is sent
		if err := o.manager.Lead(ctx, l.Gate, l.Token); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
	})
	return work(ctx, l)
}

// deploy creates the contract, once however often it is asked for, and prints its address.
func (o *organisation) deploy(ctx context.Context, _ election.Leadership) error {
	creation, err := evm.Creation(o.declaration())
	if err != nil {
		return err
	}
	in, err := o.accept(ctx, pending.Intent{Key: "deploy", Call: chain.Call{Data: creation}})
	if err != nil {
		return err
	}
	for {
		r, err := o.queue.Get(ctx, in.ID)
		switch {
		case err != nil:
			return err
		case r.Fate == pending.Done && r.Index != nil && r.Last.Effect.Kind == chain.EffectOK:
			fmt.Println(evm.AddressOf(o.accountOf(o.Name), *r.Index))
			o.done()
			return nil
		case r.Fate != pending.Open:
			o.done()
			return fmt.Errorf("the contract was not created: %v %s", r.Fate, r.Why)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// serve runs the node of the contract until the leadership ends.
func (o *organisation) serve(ctx context.Context, l election.Leadership) error {
	db, err := pgstore.Open(ctx, o.mint.Connection(" contracts"), 4)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := db.Begin(ctx, l.Token)
	if err != nil {
		return err
	}
	endpoints, err := evm.Dial([]string{o.Chain})
	if err != nil {
		return err
	}
	defer endpoints.Close()
	self := o.accountOf(o.Name)
	base, err := evm.Open(ctx, evm.Config{Contract: o.declaration(), Node: endpoints, Chain: o.line, Self: self, Submitter: o})
	if err != nil {
		return err // also if the contract on the chain is another one
	}
	peers, names := o.peers()
	endpoint, err := mtls.New(mtls.Config{Self: o.Name, Listen: o.Listen, Key: o.Identity, Peers: peers, Log: slog.Default()})
	if err != nil {
		return err
	}
	// The secret is the same at each start, and nobody without the key knows it.
	signature, err := o.Sign(sha256.Sum256([]byte("the salts of " + o.Name)))
	if err != nil {
		return err
	}
	node, err := sequencer.New(sequencer.Config{
		Self: self, Keys: o, Peers: names, Transport: endpoint, Store: store, Secret: sha256.Sum256(signature), Log: slog.Default(),
		Contracts: []sequencer.Contract{{Declared: o.declaration(), Rules: o.rules(), Scheme: evm.Scheme{}, Ledger: base}},
	})
	if err != nil {
		return err
	}
	slog.Info("the node runs", slog.String("peers", endpoint.Addr().String()), slog.String("fingerprint", endpoint.Fingerprint().String()))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	faults := make(chan error, 3)
	for _, part := range []func(context.Context) error{endpoint.Run, node.Run, o.api(node)} {
		go func() {
			defer stop()
			faults <- part(ctx)
		}()
	}
	return errors.Join(<-faults, <-faults, <-faults)
}
