package pgmint

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
)

// Mint is an mint.Mint over Postgres, safe for concurrent use. Close it after its electors.
type Mint struct {
	cfg    Config
	mu     sync.Mutex
	spare  []spare // idle connections of Wait
	closed bool

	budget   int // most advisory locks; 0 before the first session
	reserved int // advisory locks of the open sessions
	sessions int // open ones
}

// spare is an idle connection, which the server ends if it stays idle for long.
type spare struct {
	*pg.Session
	since time.Time
}

var _ mint.Mint = (*Mint)(nil)

// New checks the configuration and returns a mint. It does not connect yet.
func New(cfg Config) (*Mint, error) {
	if _, err := cfg.Connection("").Parse(); err != nil {
		return nil, err
	}
	if err := cfg.validateLocks(); err != nil {
		return nil, fmt.Errorf("pgmint: %w", err)
	}
	return &Mint{cfg: cfg}, nil
}

// Close closes the idle connections that Wait keeps.
func (m *Mint) Close() {
	m.mu.Lock()
	spares := m.spare
	m.spare, m.closed = nil, true
	m.mu.Unlock()
	for _, s := range spares {
		_ = s.Close(context.Background())
	}
}

// Open opens the lock session, locks its process key and registers the candidate. It refuses with a
// *[SchemaError], and with mint.ErrBarred a candidate that cannot lead.
func (m *Mint) Open(ctx context.Context, c mint.Candidate) (mint.Session, error) {
	settings := pg.Settings{Lease: c.Lease, LockTimeout: c.LockTimeout, StatementTimeout: c.Lease / 2}
	settings.LockTimeout = cmp.Or(settings.LockTimeout, mint.DefaultLockTimeout(c.Lease))
	if c.Takeover == mint.Keep {
		settings.Lease = 0 // only the end of the connection frees the locks
	}
	conn, err := pg.Open(ctx, m.cfg.Connection(" "+c.ID), settings)
	if err != nil {
		return nil, err
	}
	s := &session{
		pg: conn, mint: m, who: c, keys: map[string]int64{}, locked: map[string]bool{}, minted: map[string]fence.Term{},
		owed: map[string]fence.Term{}, atOnce: bidsAtOnce, seen: time.Now(),
	}
	if err := s.admit(ctx); err != nil {
		err = pg.LockedOn(ctx, conn.Conn(), err)
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	if err := s.register(ctx); err != nil {
		err = pg.LockedOn(ctx, conn.Conn(), err)
		_ = s.Close()
		return nil, err
	}
	if err := s.rehearse(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// channelAndTableSQL does two things in one round trip. It sets the channel of conch.announce for the
// session, and reads how many locks the server's table has room for, without the few more places for its
// own processes.
const channelAndTableSQL = `SELECT current_setting('max_locks_per_transaction')::int
     * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int)
  FROM set_config('conch.listen_channel', $1, false)`

// admit checks the schema, the names and the lock budget before the session takes any lock.
func (s *session) admit(ctx context.Context) error {
	if err := Tables.Check(ctx, s.pg.Conn()); err != nil {
		return err
	}
	var table int
	if err := s.pg.Conn().QueryRow(ctx, channelAndTableSQL, s.mint.cfg.Channel()).Scan(&table); err != nil {
		return err
	}
	if err := s.checkNames(ctx); err != nil {
		return err
	}
	s.table = table
	var err error
	s.reserved, err = s.mint.reserve(len(s.who.Scopes), table)
	return err
}

// checkNames looks for names that the database's encoding cannot represent. It refuses such an id, and
// leaves such a scope unregistered, so that only the bid for that scope fails.
func (s *session) checkNames(ctx context.Context) error {
	ok, err := s.canEncode(ctx, s.who.ID)
	if err == nil && !ok {
		encoding := s.pg.Conn().PgConn().ParameterStatus("server_encoding")
		return fmt.Errorf("%w: the database's encoding %s cannot represent the instance id %q: choose another id", mint.ErrBarred, encoding, s.who.ID)
	}
	if err == nil {
		s.who.Scopes, err = s.encodable(ctx, s.who.Scopes)
	}
	return err
}

// encodable returns the scopes that the database's encoding can represent.
func (s *session) encodable(ctx context.Context, scopes []string) (fit []string, err error) {
	fit = []string{}
	for _, scope := range scopes {
		ok, err := s.canEncode(ctx, scope)
		if err != nil {
			return nil, err
		}
		if ok {
			fit = append(fit, scope)
		}
	}
	return fit, nil
}

// canEncode reports whether the database's encoding can represent a name.
func (s *session) canEncode(ctx context.Context, name string) (bool, error) {
	if pg.Storable(s.pg.Conn().PgConn(), name) == name {
		return true, nil
	}
	_, err := s.pg.Conn().Exec(ctx, `SELECT $1::text`, name)
	if pg.IsUnstorable(err) {
		return false, nil
	}
	return true, err
}

// register locks a new, random process key and records the candidate, its scopes and its lease.
func (s *session) register(ctx context.Context) error {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	s.process = int64(binary.BigEndian.Uint64(b[:]))
	var got bool
	err := s.pg.Conn().QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, s.process).Scan(&got)
	if err == nil && !got {
		err = fmt.Errorf("pgmint: the process key %d is taken", s.process)
	}
	if err != nil {
		return err
	}
	_, err = s.pg.Conn().Exec(ctx, `SELECT conch.register($1, $2, $3, $4, $5, $6)`, s.process, s.who.ID, s.who.Scopes,
		s.who.Longest.Milliseconds(), string(s.who.Takeover), string(s.mint.cfg.locks()))
	if err == nil {
		s.introduce(ctx)
	}
	return err
}

// introduce writes what the process says of itself, if that has changed. A candidate that may not write it campaigns all the same.
func (s *session) introduce(ctx context.Context) {
	if s.mint.cfg.About == nil {
		return
	}
	if about := s.mint.cfg.About(); about != s.about {
		_, err := s.pg.Conn().Exec(ctx, `UPDATE conch.process SET version = $2, address = $3, settings = $4, lines_lost = $5 WHERE process_key = $1`, s.process,
			pg.Storable(s.pg.Conn().PgConn(), about.Version), pg.Storable(s.pg.Conn().PgConn(), about.Address), about.Settings, about.LinesLost)
		if err == nil {
			s.about = about
		}
	}
}

// waitSlice limits a wait, which holds back the xmin horizon of the whole database.
const waitSlice = 5 * time.Second

// Wait waits up to five seconds for the key of a process, in shared mode, and reports whether that
// process is gone. It holds no lock when it returns.
func (m *Mint) Wait(ctx context.Context, process int64) (gone bool, err error) {
	s, err := m.waiter(ctx)
	if err != nil {
		return false, err
	}
	// A connection may have gone silent: do not wait for it for ever.
	inner, cancel := context.WithTimeout(ctx, waitSlice+2*time.Second)
	defer cancel()
	_, err = s.Conn().Exec(inner, `SELECT pg_advisory_xact_lock_shared($1)`, process)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == pg.CodeLockTimeout { // the slice is over
		err = nil
	} else {
		gone = err == nil
	}
	m.keepSpare(s, err)
	return gone, err
}

func (m *Mint) waiter(ctx context.Context) (*pg.Session, error) {
	m.mu.Lock()
	for n := len(m.spare); n > 0; n = len(m.spare) {
		s := m.spare[n-1]
		m.spare = m.spare[:n-1]
		if time.Since(s.since) < waitSlice {
			m.mu.Unlock()
			return s.Session, nil
		}
		defer func() { _ = s.Close(context.Background()) }()
	}
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, waitSlice)
	defer cancel()
	return pg.Open(ctx, m.cfg.Connection(" waiter"), pg.Settings{Lease: 4 * waitSlice, LockTimeout: waitSlice, StatementTimeout: 2 * waitSlice})
}

// keepSpare keeps a connection for the next wait. It closes it if it has failed or the mint is closed.
func (m *Mint) keepSpare(s *pg.Session, err error) {
	m.mu.Lock()
	keep := err == nil && !s.Lost() && !m.closed
	if keep {
		m.spare = append(m.spare, spare{Session: s, since: time.Now()})
	}
	m.mu.Unlock()
	if !keep {
		_ = s.Close(context.Background())
	}
}

// Listen calls heard with each change that conch.announce notifies, and with the zero Change after
// each (re)connect, since a change may have been missed.
func (m *Mint) Listen(ctx context.Context, heard func(mint.Change)) error {
	return pg.Listen(ctx, m.cfg.Connection(" listener"), []string{m.cfg.Channel()}, pg.ListenFuncs{
		Up: func() { heard(mint.Change{}) },
		Notify: func(_, payload string) {
			if c, ok := parseChange(payload); ok {
				heard(c)
			}
		},
	})
}

// parseChange parses scope:holder:epoch from the right, since a scope may contain ':'.
func parseChange(payload string) (c mint.Change, ok bool) {
	last := strings.LastIndexByte(payload, ':')
	if last < 0 {
		return c, false
	}
	epoch, err := strconv.ParseInt(payload[last+1:], 10, 64)
	if err != nil {
		return c, false
	}
	mid := strings.LastIndexByte(payload[:last], ':')
	if mid < 0 {
		return c, false
	}
	return mint.Change{Scope: payload[:mid], Holder: payload[mid+1 : last], Epoch: epoch}, true
}
