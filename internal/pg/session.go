package pg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const closePatience = 2 * time.Second

// Settings make the session a lease.
type Settings struct {
	// Lease is how long the server tolerates silence before it ends the session and
	// frees its locks. Zero means no limit: only a dead connection ends the session.
	Lease time.Duration
	// LockTimeout limits the wait for each lock; zero means no limit. A statement that
	// needs several locks can wait this long for each.
	LockTimeout      time.Duration
	StatementTimeout time.Duration // limits each statement; zero means no limit
}

// Session is one dedicated connection; see the package documentation.
type Session struct {
	conn   *pgx.Conn
	at     *pgx.ConnConfig
	target string
	pooler bool
}

// Open connects, applies the settings and checks the server, in one round trip after
// those of the connection (S1). Behind a pooler it takes a few more.
func Open(ctx context.Context, c Config, set Settings) (*Session, error) {
	parsed, err := c.Parse()
	if err != nil {
		return nil, err
	}
	s, err := dial(ctx, parsed)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := s.begin(ctx, set); err != nil {
		leave(s.conn)
		return nil, err
	}
	return s, nil
}

func dial(ctx context.Context, parsed *pgx.ConnConfig) (*Session, error) {
	parsed = parsed.Copy()
	Heed(parsed)
	conn, err := connect(ctx, parsed)
	if err != nil {
		return nil, err
	}
	pin(parsed, conn) // what else is asked, such as a pooler's name, is asked of the same address
	return &Session{conn: conn, target: describe(&parsed.Config), at: parsed}, nil
}

// begin applies the settings only if the answer comes from the backend that was
// announced when the connection started. Otherwise a pooler is in between, and a
// setting made now might stay on a backend that serves other clients.
func (s *Session) begin(ctx context.Context, set Settings) error {
	if version := s.conn.PgConn().ParameterStatus("server_version"); tooOld(version) {
		return &VersionError{Server: version}
	}
	told := s.conn.PgConn().PID()
	first, err := s.setUp(ctx, set, told)
	if err != nil {
		return err
	}
	if first.backend != told {
		s.pooler = true
		if err := s.refuseShared(ctx, first.backend); err != nil {
			return err
		}
		again, err := s.setUp(ctx, set, first.backend)
		if err != nil {
			return err
		}
		if again.backend != first.backend {
			return sharedError(ctx, s)
		}
	}
	if first.version < MinMajor*10000 {
		return &VersionError{Server: s.conn.PgConn().ParameterStatus("server_version")}
	}
	if first.standby {
		return &StandbyError{Target: s.target}
	}
	return nil
}

// Conn returns the connection. Only Watch returns the WARNINGs of its statements.
func (s *Session) Conn() *pgx.Conn { return s.conn }

// Pooler reports whether a pooler in session mode is in between.
func (s *Session) Pooler() bool { return s.pooler }

// Caution returns a *PooledError behind a pooler in session mode, otherwise nil.
func (s *Session) Caution() error {
	if !s.pooler {
		return nil
	}
	return &PooledError{Target: s.target}
}

// Lost reports whether the connection is known to be gone. Only a statement can find that out.
func (s *Session) Lost() bool { return s.conn.IsClosed() }

// Watch runs work and returns the last WARNING that arrived meanwhile. After a COMMIT
// with a WARNING the synchronous standby may not have the transaction.
func (s *Session) Watch(work func(*pgx.Conn) error) (warning *pgconn.Notice, err error) {
	marks := s.conn.PgConn().CustomData()
	delete(marks, warned)
	err = work(s.conn)
	warning, _ = marks[warned].(*pgconn.Notice)
	return warning, err
}

// Close ends the session. The server may free the locks only after Close has returned,
// so unlock first where the time matters.
func (s *Session) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	return s.conn.Close(ctx)
}
