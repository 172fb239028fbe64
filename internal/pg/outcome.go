package pg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tried is what came of trying one place.
type tried struct {
	place
	conn *pgx.Conn
	err  error
	took time.Duration
}

func (t tried) String() string {
	if other, is := errors.AsType[*unfitError](t.err); is {
		return t.name + ": " + other.is
	}
	if _, unnamed := errors.AsType[*net.DNSError](t.err); !unnamed && Code(t.err) == "" && (pgconn.Timeout(t.err) || errors.Is(t.err, context.DeadlineExceeded)) {
		return fmt.Sprintf("%s: did not answer within %s", t.name, max(t.took.Round(100*time.Millisecond), 100*time.Millisecond))
	}
	text := Sentence(t.err)
	if host, _, _ := strings.Cut(t.name, " ("); !strings.HasPrefix(host, "socket ") {
		text = strings.ReplaceAll(text, host, "this address")
	}
	return t.name + ": " + strings.TrimPrefix(text, "this address ")
}

// addressesError says what came of each address of a database, when none of them was good.
type addressesError struct{ all []tried }

func (e *addressesError) Error() string {
	text := "no address of the database can be used now"
	between := ": "
	for _, one := range e.all {
		text, between = text+between+one.String(), "; "
	}
	return text
}

func (e *addressesError) Unwrap() (errs []error) {
	for _, one := range e.all {
		errs = append(errs, one.err)
	}
	return errs
}

// outcomes returns those of each address, if the error has them.
func outcomes(err error) []tried {
	if whole, several := errors.AsType[*addressesError](err); several {
		return whole.all
	}
	return nil
}

// unfitError means that a server is not what target_session_attrs asks for.
type unfitError struct{ is string }

func (e *unfitError) Error() string { return e.is }

func unfit(conn *pgconn.PgConn, err error) error {
	if _, preference := errors.AsType[*pgconn.NotPreferredError](err); preference {
		return nil
	}
	for refused, is := range map[error]string{
		pgconn.ErrPrimaryConnection: "is the primary", pgconn.ErrReadWriteConnection: "takes writes",
		pgconn.ErrStandbyConnection: "is a standby", pgconn.ErrReadOnlyConnection: "takes no writes",
	} {
		if errors.Is(err, refused) {
			if conn.ParameterStatus("in_hot_standby") == "on" {
				is = "is a standby"
			}
			return &unfitError{is}
		}
	}
	return err
}
