package pg

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// closePatience bounds the goodbye of Close when its context has no deadline.
const closePatience = 2 * time.Second

// Settings make the session a lease.
type Settings struct {
	// Lease is how long the server tolerates silence before it ends the session
	// and frees its locks. Zero sets no limit: only a dead connection does.
	Lease time.Duration
	// LockTimeout bounds the wait for each lock; zero means no bound. It is counted anew
	// for each one, so a statement that needs many can wait many times as long.
	LockTimeout time.Duration
	// StatementTimeout bounds each statement; zero means no bound.
	StatementTimeout time.Duration
}

// Session is one dedicated connection, see the package documentation.
type Session struct {
	conn    *pgx.Conn
	target  string
	backend uint32
	version int
	pooler  bool
	warning *pgconn.Notice
}

// Open connects, sets the session up and checks the server, in one round trip
// after the connection's own (S1). Behind a pooler it takes a few more.
func Open(ctx context.Context, c Config, set Settings) (*Session, error) {
	parsed, err := c.Parse()
	if err != nil {
		return nil, err
	}
	s, err := dial(ctx, parsed)
	if err != nil {
		return nil, err
	}
	if err := s.begin(ctx, parsed, set); err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

func dial(ctx context.Context, parsed *pgx.ConnConfig) (*Session, error) {
	s := &Session{target: describe(&parsed.Config)}
	parsed = parsed.Copy()
	parsed.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) { s.notice(notice) }
	conn, err := pgx.ConnectConfig(ctx, parsed)
	if err != nil {
		return nil, err
	}
	s.conn = conn
	return s, nil
}

// begin applies the settings only if the backend that answers is the one that
// the connection was told at its start. Otherwise a pooler is in between, and a
// setting made now might stay on a backend that serves others.
func (s *Session) begin(ctx context.Context, parsed *pgx.ConnConfig, set Settings) error {
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
		if err := s.refuseShared(ctx, parsed, first.backend); err != nil {
			return err
		}
		again, err := s.setUp(ctx, set, first.backend)
		if err != nil {
			return err
		}
		if again.backend != first.backend {
			return sharedError(ctx, parsed, s)
		}
	}
	s.backend, s.version = first.backend, first.version
	if s.version < MinMajor*10000 {
		return &VersionError{Server: s.conn.PgConn().ParameterStatus("server_version")}
	}
	if first.standby {
		return &StandbyError{Target: s.target}
	}
	return nil
}

// Conn is the connection itself. A WARNING during a statement sent past Watch
// and Batch is not seen.
func (s *Session) Conn() *pgx.Conn { return s.conn }

// Backend is the process id of the backend that serves the session.
func (s *Session) Backend() uint32 { return s.backend }

// Version is server_version_num, 150004 for 15.4.
func (s *Session) Version() int { return s.version }

// Pooler says that a pooler in session mode is in between.
func (s *Session) Pooler() bool { return s.pooler }

// Caution is what whoever runs this should know although it is allowed: a
// *PooledError, or nil.
func (s *Session) Caution() error {
	if !s.pooler {
		return nil
	}
	return &PooledError{Target: s.target}
}

// Target describes the database without the password.
func (s *Session) Target() string { return s.target }

// Lost says that the connection is known to be gone. A line that was cut in
// silence is only noticed by the next statement.
func (s *Session) Lost() bool { return s.conn.IsClosed() }

// Watch runs work and hands over the last WARNING that arrived meanwhile. A COMMIT
// with a WARNING is one that the synchronous standby has not confirmed.
func (s *Session) Watch(work func(*pgx.Conn) error) (warning *pgconn.Notice, err error) {
	s.warning = nil
	err = work(s.conn)
	return s.warning, err
}

// Batch sends all statements in one round trip and one implicit transaction, and
// closes the results: only then is it known whether the commit came through.
func (s *Session) Batch(ctx context.Context, batch *pgx.Batch, read func(pgx.BatchResults) error) (*pgconn.Notice, error) {
	return s.Watch(func(conn *pgx.Conn) error {
		results := conn.SendBatch(ctx, batch)
		var err error
		if read != nil {
			err = read(results)
		}
		closeErr := results.Close()
		if closeErr != nil && !errors.Is(err, closeErr) {
			return errors.Join(err, closeErr)
		}
		return err
	})
}

// Close says goodbye. The server may free the locks only after this returns:
// unlock first where it matters.
func (s *Session) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	return s.conn.Close(ctx)
}

// discard closes a session that was refused, even if its context is over.
func (s *Session) discard() { _ = s.Close(context.Background()) }

func (s *Session) notice(notice *pgconn.Notice) {
	if isWarning(notice) {
		s.warning = notice
	}
}
