//go:build unix

package board

import (
	"context"
	"fmt"
	"net/rpc"
	"syscall"
	"time"

	"github.com/conchhq/conch/internal/fleet"
)

// Member is one of the members: a process.
type Member struct {
	board *Board
	name  string
	file  string // its settings

	process *fleet.Process // nil: it was never started
	clerk   *rpc.Client    // nil: it does not run
}

// answerMost bounds what a member is asked about itself.
const answerMost = 5 * time.Second

// start starts the process and waits until it says where its clerk is.
func (m *Member) start() error {
	said := make(chan string, 1)
	p, err := m.board.launcher.Launch(fleet.Command{
		Program: m.board.shape.Program, Args: []string{m.board.shape.Command, "--file", m.file},
		Tell: func(n fleet.News) {
			select {
			case said <- string(n.Line): // its end, if it has said nothing
			default:
			}
		},
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w", m.name, err)
	}
	m.process = p
	address := <-said
	if address == "" {
		return fmt.Errorf("%s has ended: %s", m.name, p.LastWords())
	}
	m.clerk, err = rpc.Dial("tcp", address)
	return err
}

// Again starts a member that was killed.
func (m *Member) Again() error {
	m.wait()
	return m.start()
}

// Kill ends a member with SIGKILL. What it has stored stays.
func (m *Member) Kill() {
	if m.clerk != nil {
		m.process.Signal(syscall.SIGKILL)
		_ = m.clerk.Close()
		m.clerk = nil
	}
}

// wait waits for the end of a member that was killed.
func (m *Member) wait() {
	if m.process != nil {
		<-m.process.Over()
	}
}

// call asks the member something.
func (m *Member) call(ctx context.Context, method string, in, out any) error {
	if m.clerk == nil {
		return fmt.Errorf("%s does not run", m.name)
	}
	call := m.clerk.Go("Clerk."+method, in, out, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		if call.Error != nil {
			return fmt.Errorf("%s: %w", m.name, call.Error)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Put has a goal executed, as often as it takes: under one id it is executed once. Members of the bare core decide on the goal's bytes.
func (m *Member) Put(ctx context.Context, id string, goal []byte) error {
	return m.call(ctx, "Put", Asked{ID: id, Goal: goal}, &struct{}{})
}

// Query answers from the member's copy.
func (m *Member) Query(ctx context.Context, query []byte) error {
	return m.call(ctx, "Query", query, &[]byte{})
}

// Fresh answers so that the answer has everything that was acknowledged before.
func (m *Member) Fresh(ctx context.Context, query []byte) error {
	return m.call(ctx, "Fresh", query, &[]byte{})
}

// Status returns what the member says of itself.
func (m *Member) Status() (s Status, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerMost)
	defer cancel()
	err = m.call(ctx, "Status", struct{}{}, &s)
	return s, err
}

// RecordSize returns how many bytes an entry of a goal has.
func (m *Member) RecordSize(ctx context.Context) (size int, err error) {
	for i := range 2 { // the second one replaces a value
		if err := m.Put(ctx, fmt.Sprint("size-", i), Goal(0, 31_000*i)); err != nil {
			return 0, err
		}
	}
	err = m.call(ctx, "Newest", struct{}{}, &size)
	return size, err
}
