package pg

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// CodeLockTimeout is lock_not_available: the lock_timeout has passed.
const CodeLockTimeout = "55P03"

const (
	codeSerialization   = "40001"
	codeDeadlock        = "40P01"
	codeTooManyConns    = "53300"
	codeStarting        = "57P03"
	codeWrongPassword   = "28P01"
	codeNoAuthorization = "28000"
	codeNoDatabase      = "3D000"
	codeNoSchema        = "3F000"
	codeNoParameter     = "42704"
	codeNoTable         = "42P01"
	codeNoFunction      = "42883"
	codeNoPrivilege     = "42501"
	codeReadOnly        = "25006"
	codeCanceled        = "57014"

	codeIdleSession       = "57P05"
	codeIdleInTransaction = "25P03"
)

// Code returns the SQLSTATE of an error, empty if the server did not send it.
func Code(err error) string {
	if sent, ok := errors.AsType[*pgconn.PgError](err); ok {
		return sent.Code
	}
	return ""
}

// IsLost reports whether the connection is gone, and with it the session and its locks.
// In doubt it returns true: a session wrongly taken for lost is only opened again, while
// one wrongly taken for alive may act without its lock.
func IsLost(err error) bool {
	if err == nil {
		return false
	}
	if sent, ok := errors.AsType[*pgconn.PgError](err); ok {
		severity := cmp.Or(sent.SeverityUnlocalized, sent.Severity)
		return severity == "FATAL" || severity == "PANIC" || strings.HasPrefix(sent.Code, "08")
	}
	if errors.Is(err, pgconn.ErrConnClosed) {
		return true
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		// pgx closes the connection when a context ends during a statement, and leaves
		// it open when the context had ended before.
		return !pgconn.SafeToRetry(err)
	}
	// A write that failed has sent nothing, so it is safe to retry, and yet the
	// connection is gone: so SafeToRetry does not decide here.
	var line net.Error
	return errors.As(err, &line) || pgconn.Timeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// SafeToRetry reports whether the statement has certainly changed nothing, so that a
// second try cannot have the effect twice.
func SafeToRetry(err error) bool {
	switch Code(err) {
	case codeSerialization, codeDeadlock, CodeLockTimeout, codeTooManyConns, codeStarting:
		return true
	}
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || pgconn.SafeToRetry(err)
}
