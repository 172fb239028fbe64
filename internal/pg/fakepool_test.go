package pg_test

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// fakePool is a minimal connection pooler with the states that the probe must tell apart.
// pgbouncer_test.go tests the real PgBouncer, which cannot be put into every state.
type fakePool struct {
	transaction bool // else session mode
	fifo        bool // hand out the backend unused longest, else the one used last
	sticky      bool // give a client its former backend, and a new client a new backend
	size        int  // maximum number of backends; 0 means no limit
	version     string
	url         string // of the real server

	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex
	idle     []*pgconn.HijackedConn
	made     int
	open     []net.Conn
}

func (p *fakePool) start(t *testing.T, idle int) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.listener = listener
	for range idle {
		backend, err := p.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.idle = append(p.idle, backend)
	}
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.open = append(p.open, client)
			p.mu.Unlock()
			p.running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() { pgtest.Within(t, patience, "the pool ends", p.close) })
	return listener.Addr().String()
}

func (p *fakePool) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, conn := range p.open {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *fakePool) connect(ctx context.Context) (*pgconn.HijackedConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connectLocked(ctx)
}

func (p *fakePool) connectLocked(ctx context.Context) (*pgconn.HijackedConn, error) {
	conn, err := pgconn.Connect(ctx, p.url)
	if err != nil {
		return nil, err
	}
	p.made++
	p.open = append(p.open, conn.Conn())
	return conn.Hijack()
}

func (p *fakePool) take(last *pgconn.HijackedConn) (*pgconn.HijackedConn, error) {
	p.mu.Lock()
	if p.sticky {
		defer p.mu.Unlock()
		if at := slices.Index(p.idle, last); at >= 0 {
			p.idle = slices.Delete(p.idle, at, at+1)
			return last, nil
		}
		return p.connectLocked(context.Background())
	}
	n := len(p.idle)
	if n == 0 {
		full := p.size > 0 && p.made >= p.size
		p.mu.Unlock()
		if full {
			return nil, nil
		}
		return p.connect(context.Background())
	}
	defer p.mu.Unlock()
	at := n - 1
	if p.fifo {
		at = 0
	}
	backend := p.idle[at]
	p.idle = append(p.idle[:at], p.idle[at+1:]...)
	return backend, nil
}

func (p *fakePool) give(backend *pgconn.HijackedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, backend)
}

// welcome answers the startup itself, with a process id that no backend has.
func (p *fakePool) welcome(client *pgproto3.Backend) error {
	if _, err := client.ReceiveStartupMessage(); err != nil {
		return err
	}
	client.Send(&pgproto3.AuthenticationOk{})
	client.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: p.version})
	client.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	client.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	client.Send(&pgproto3.BackendKeyData{ProcessID: 1 << 30, SecretKey: []byte("fake")})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return client.Flush()
}

func (p *fakePool) serve(conn net.Conn) {
	defer conn.Close()
	client := pgproto3.NewBackend(conn, conn)
	if p.welcome(client) != nil {
		return
	}
	var backend, last *pgconn.HijackedConn
	for {
		message, err := client.Receive()
		if err != nil {
			return
		}
		if _, bye := message.(*pgproto3.Terminate); bye {
			return
		}
		if backend == nil {
			if backend, err = p.take(last); err != nil {
				return
			}
			if backend == nil {
				client.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "53300", Message: "no more connections allowed"})
				_ = client.Flush()
				return
			}
		}
		backend.Frontend.Send(message)
		idle, err := answers(message, backend.Frontend, client)
		if err != nil {
			return
		}
		if !p.transaction {
			p.running.Go(func() { _, _ = io.Copy(backend.Conn, conn); _ = backend.Conn.Close() })
			_, _ = io.Copy(conn, backend.Conn)
			return
		}
		// As in poolers with many threads, the client gets its answer before the
		// backend is back in the pool: this must not deceive the probe.
		if idle {
			p.give(backend)
			last, backend = backend, nil
		}
	}
}

// answers passes the answer back. idle reports that no transaction is open after it.
func answers(message pgproto3.FrontendMessage, server *pgproto3.Frontend, client *pgproto3.Backend) (idle bool, err error) {
	switch message.(type) {
	case *pgproto3.Query, *pgproto3.Sync:
	default:
		return false, nil
	}
	if err := server.Flush(); err != nil {
		return false, err
	}
	for {
		answer, err := server.Receive()
		if err != nil {
			return false, err
		}
		client.Send(answer)
		if ready, ok := answer.(*pgproto3.ReadyForQuery); ok {
			return ready.TxStatus == 'I', client.Flush()
		}
	}
}
