//go:build unix

package board

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"sync/atomic"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bare"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

// Clerk is what a member's process is asked. Its methods have the form that net/rpc wants.
type Clerk struct {
	ctx   context.Context //nolint:containedctx // calls of net/rpc have none
	host  *quorum.Host    // nil: the bare core
	core  *bare.Node      // nil: a host
	store store.Store
	sent  counts
}

// Asked is a goal, and the id under which it is executed once.
type Asked struct {
	ID   string
	Goal []byte
}

// Status is what a member says of itself.
type Status struct {
	Leads    bool
	Position txlog.Position
	Sent     Tally
}

// Tally is what was sent to other members.
type Tally struct{ Messages, Bytes int64 }

// open has the clerk take calls until ctx ends, and returns its address.
func (d *Clerk) open(ctx context.Context) (net.Addr, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	server := rpc.NewServer()
	if err := server.Register(d); err != nil {
		return nil, err
	}
	go server.Accept(listener)
	return listener.Addr(), nil
}

// Put has a goal executed.
func (d *Clerk) Put(in Asked, _ *struct{}) error {
	if d.core != nil {
		return d.core.Ask(d.ctx, in.Goal)
	}
	for {
		a, err := d.host.Goal(d.ctx, in.ID, in.Goal, 0)
		switch {
		case errors.Is(err, quorum.ErrStopped):
		case errors.Is(err, txlog.ErrUnknown) && d.ctx.Err() == nil, errors.Is(err, txlog.ErrTooMany):
			continue
		case err == nil && a.Fault != "":
			return fmt.Errorf("a goal has failed: %s", a.Fault)
		}
		return err
	}
}

var errBare = errors.New("the bare core has no state")

// Query answers from the copy that is here.
func (d *Clerk) Query(query []byte, result *[]byte) (err error) {
	if d.host == nil {
		return errBare
	}
	*result, _, err = d.host.Query(d.ctx, query)
	return err
}

// Fresh answers with everything that was acknowledged before.
func (d *Clerk) Fresh(query []byte, result *[]byte) (err error) {
	if d.host == nil {
		return errBare
	}
	*result, _, err = d.host.Fresh(d.ctx, query)
	return err
}

// Status says how far this member is.
func (d *Clerk) Status(_ struct{}, s *Status) error {
	s.Sent = Tally{Messages: d.sent.messages.Load(), Bytes: d.sent.bytes.Load()}
	if d.host == nil {
		select {
		case <-d.core.Leads():
			s.Leads = true
		default:
		}
		return nil
	}
	of := d.host.Status()
	s.Leads, s.Position = of.Leads, of.Position
	return nil
}

// Newest says how many bytes the newest record has.
func (d *Clerk) Newest(_ struct{}, size *int) error {
	if d.host == nil {
		return errBare
	}
	records, err := d.store.Records(d.host.Position().Index, 1)
	if err != nil {
		return err
	}
	*size = len(records[0].Raw())
	return nil
}

// counts count what lines send.
type counts struct{ messages, bytes atomic.Int64 }

// overheard is a line of which it is counted what is sent.
type overheard struct {
	transport.Line

	sent *counts
}

// Send implements transport.Line.
func (c overheard) Send(to string, body []byte) error {
	c.sent.messages.Add(1)
	c.sent.bytes.Add(int64(len(body)))
	return c.Line.Send(to, body)
}
