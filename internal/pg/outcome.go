package pg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// tried is what came of trying one address.
type tried struct {
	at   string
	err  error
	took time.Duration
}

func (t tried) String() string {
	_, unnamed := errors.AsType[*net.DNSError](t.err)
	if _, told := errors.AsType[*pgconn.PgError](t.err); !told && !unnamed && (pgconn.Timeout(t.err) || errors.Is(t.err, context.DeadlineExceeded)) {
		return fmt.Sprintf("%s: did not answer within %s", t.at, max(t.took.Round(100*time.Millisecond), 100*time.Millisecond))
	}
	if unfit, is := errors.AsType[*unfitError](t.err); is {
		return t.at + ": " + unfit.is
	}
	text := Sentence(t.err)
	if host, _, _ := strings.Cut(t.at, " ("); !strings.HasPrefix(host, "socket ") {
		text = strings.ReplaceAll(text, host, "this address")
	}
	return t.at + ": " + strings.TrimPrefix(text, "this address ")
}

// addressesError says what came of each address of a database, when none of them was good.
type addressesError struct{ all []tried }

func (e *addressesError) Error() string {
	outcomes := make([]string, len(e.all))
	for i, one := range e.all {
		outcomes[i] = one.String()
	}
	return "no address of the database can be used now: " + strings.Join(outcomes, "; ")
}

func (e *addressesError) Unwrap() []error {
	errs := make([]error, len(e.all))
	for i, one := range e.all {
		errs[i] = one.err
	}
	return errs
}

// unfitError means that a server is not what target_session_attrs asks for.
type unfitError struct {
	is     string
	second bool // it is taken if no other is better, as prefer-standby says
}

func (e *unfitError) Error() string { return e.is }

func isUnfit(err error) bool {
	_, unfit := errors.AsType[*unfitError](err)
	return unfit
}

// isSecondChoice looks at each address: any of them may be the second choice.
func isSecondChoice(err error) bool {
	if whole, several := errors.AsType[*addressesError](err); several {
		for _, one := range whole.all {
			if isSecondChoice(one.err) {
				return true
			}
		}
		return false
	}
	unfit, is := errors.AsType[*unfitError](err)
	return is && unfit.second
}

// judged returns the check of a new connection. With several addresses it asks the server something in
// any case: a pooler lets its clients in when its server is gone, and that one has to count as silent.
func judged(fit pgconn.ValidateConnectFunc, several bool) pgconn.ValidateConnectFunc {
	switch {
	case fit == nil && several:
		return func(ctx context.Context, conn *pgconn.PgConn) error { return conn.Ping(ctx) }
	case fit == nil:
		return nil
	}
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		err := fit(ctx, conn)
		_, second := errors.AsType[*pgconn.NotPreferredError](err)
		switch {
		case errors.Is(err, pgconn.ErrPrimaryConnection):
			return &unfitError{is: "is the primary, and the URL asks for a standby", second: second}
		case errors.Is(err, pgconn.ErrStandbyConnection),
			errors.Is(err, pgconn.ErrReadOnlyConnection) && conn.ParameterStatus("in_hot_standby") == "on":
			return &unfitError{is: "is a standby"}
		case errors.Is(err, pgconn.ErrReadOnlyConnection):
			return &unfitError{is: "takes no writes"}
		case errors.Is(err, pgconn.ErrReadWriteConnection):
			return &unfitError{is: "takes writes, and the URL asks for a server that does not"}
		}
		return err
	}
}
