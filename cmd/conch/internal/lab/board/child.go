//go:build unix

package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bare"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/prolog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// The lines of members: of the log, and of the heads, which gossip carries in a node.
const (
	logSubject  = "log"
	headSubject = "heads"
)

// RunChild runs one member whose settings are in a file, until stdin ends or the context does. It says on out where its clerk is.
func RunChild(ctx context.Context, file string, in io.Reader, out io.Writer) (err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s settings
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end, err := s.endpoint()
	if err != nil {
		return err
	}
	line, err := end.Open(logSubject)
	if err != nil {
		return err
	}
	heads, err := end.Open(headSubject)
	if err != nil {
		return err
	}
	kept, err := disk.Open(ctx, s.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	d := &Clerk{ctx: ctx, store: kept}
	run, err := s.take(d, overheard{line, &d.sent}, overheard{heads, &d.sent}, end)
	if err != nil {
		return err
	}
	address, err := d.open(ctx)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	if _, err := fmt.Fprintln(out, address); err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- end.Run(ctx) }()
	go func() { ended <- run(ctx) }()
	first := <-ended
	cancel()
	return errors.Join(first, <-ended)
}

// take makes the member that the clerk asks, and returns what runs it.
func (s settings) take(d *Clerk, line, heads transport.Line, end transport.Endpoint) (run func(context.Context) error, err error) {
	if !s.Bare {
		d.host, run, err = s.member(d.store, line, heads, end, nil)
		return run, err
	}
	if d.core, err = bare.New(bare.Config{Names: s.Members, Self: s.Self, Store: d.store, Line: line}); err != nil {
		return nil, err
	}
	return d.core.Run, nil
}

// member makes a node of the log, and returns what runs it.
func (s settings) member(kept store.Store, line, heads transport.Line, end transport.Endpoint, tell func(quorum.Event)) (h *quorum.Host, run func(context.Context) error, err error) {
	identity, err := mtls.LoadIdentity(s.File, "")
	if err != nil {
		return nil, nil, err
	}
	state := kv.New
	if s.Prolog {
		state = prolog.New
	}
	news := newHerald(heads, end.Peers)
	h, err = quorum.New(quorum.Config{
		Self: s.Name, Key: identity.Signer(), New: state, Seed: rand.Uint64(), //nolint:gosec // of choices by chance
		Store: kept, Line: line, Peers: end.Peers, Publish: news.publish, Tell: tell,
	})
	if err != nil {
		return nil, nil, err
	}
	news.heard = h.Heard
	return h, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		var group sync.WaitGroup
		group.Go(func() { news.run(ctx) })
		defer group.Wait()
		defer cancel()
		return h.Run(ctx)
	}, nil
}
