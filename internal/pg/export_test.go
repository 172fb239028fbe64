package pg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ListenHushed is Listen with another limit for silence.
func ListenHushed(ctx context.Context, c Config, channels []string, funcs ListenFuncs, after time.Duration) error {
	parsed, err := c.Parse()
	if err != nil {
		return err
	}
	l := &listener{parsed: parsed, channels: channels, funcs: funcs, hushed: after}
	return l.run(ctx)
}

// Racing connects with another resolver.
func Racing(ctx context.Context, c Config, lookup pgconn.LookupFunc) (*pgx.Conn, error) {
	parsed, err := c.Parse()
	if err != nil {
		return nil, err
	}
	parsed.LookupFunc = lookup
	return connect(ctx, parsed)
}

// IsWarning reports whether a notice makes the outcome of a commit unknown.
var IsWarning = isWarning

// Target describes the database without the password.
func (s *Session) Target() string { return s.target }
