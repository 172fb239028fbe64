//go:build unix

package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/bare"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/quorum/host"
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

func (s settings) endpoint() (*mtls.Endpoint, error) {
	c := mtls.Config{Self: s.All[s.Self].Name, Listen: s.All[s.Self].Address, Key: s.Key}
	for i, other := range s.All {
		if i != s.Self {
			c.Peers = append(c.Peers, mtls.Peer{Name: other.Name, URL: "https://" + other.Address, Key: other.Key})
		}
	}
	return mtls.New(c)
}

// take makes the member that the clerk asks, and returns what runs it.
func (s settings) take(d *Clerk, line, heads transport.Line, end transport.Endpoint) (run func(context.Context) error, err error) {
	if s.Bare {
		var names []string
		for _, one := range s.All {
			names = append(names, one.Name)
		}
		if d.core, err = bare.New(bare.Config{Names: names, Self: s.Self, Store: d.store, Line: line}); err != nil {
			return nil, err
		}
		return d.core.Run, nil
	}
	identity, err := mtls.LoadIdentity(s.Key, "")
	if err != nil {
		return nil, err
	}
	d.host, err = host.New(host.Config{
		Settings: host.Settings{Self: end.Self(), Key: identity.Signer(), New: kv.New, Seed: uint64(os.Getpid())},
		Store:    d.store, Line: line, Peers: end.Peers,
		Publish: func(head []byte) {
			for _, to := range end.Peers() {
				_ = heads.Send(to, head) // it may be lost: the next one says more
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		go func() {
			for {
				select {
				case e := <-heads.Inbox():
					_ = d.host.Heard(e.Body, e.From)
				case <-ctx.Done():
					return
				}
			}
		}()
		return d.host.Run(ctx)
	}, nil
}
