package pg

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// Sentence turns an error of the database into one sentence that says what to do, without
// the password. It returns other errors unchanged, on one line, even those with the same
// text, such as an address in use: the type of an error decides.
func Sentence(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range []func(error) string{own, fromServer, fromConnecting, fromLine} {
		if text := known(err); text != "" {
			return text
		}
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// hidesRows reports whether a statement was refused since policies would hide rows from it.
func hidesRows(sent *pgconn.PgError) bool { return sent.Routine == "check_enable_rls" }

// own drops the wrappers of this package's errors, which are sentences already.
func own(err error) string {
	var config *ConfigError
	var version *VersionError
	var standby *StandbyError
	var pooler *PoolerError
	var owner *OwnerError
	var silence *SilenceError
	var locked *LockedError
	switch {
	case errors.As(err, &locked):
		return locked.Error()
	case errors.As(err, &silence):
		return silence.Error()
	case errors.As(err, &config):
		return config.Error()
	case errors.As(err, &version):
		return version.Error()
	case errors.As(err, &standby):
		return standby.Error()
	case errors.As(err, &pooler):
		return pooler.Error()
	case errors.As(err, &owner):
		return owner.Error()
	}
	return ""
}

// fromServer decides by SQLSTATE and routine: the message is in the server's language.
func fromServer(err error) string {
	var sent *pgconn.PgError
	if !errors.As(err, &sent) {
		return ""
	}
	at, user, db := target(err)
	switch sent.Code {
	case codeWrongPassword:
		return fmt.Sprintf("the password for user %q was refused by %s: correct it in %s, PGPASSWORD or the password file", user, at, EnvURL)
	case codeNoAuthorization:
		if sent.Routine == "InitializeSessionUserId" {
			return fmt.Sprintf("there is no user %q on %s that may log in (%s): create it, or ALTER ROLE … LOGIN, or name another one in %s", user, at, sent.Message, EnvURL)
		}
		return fmt.Sprintf("the server does not let user %q in (%s): allow it in pg_hba.conf, or name another user in %s", user, sent.Message, EnvURL)
	case codeNoDatabase:
		return fmt.Sprintf("there is no database %q on %s: create it, or name another one in %s", db, at, EnvURL)
	case codeNoSchema, codeNoTable, codeNoFunction:
		if strings.Contains(sent.Message, "conch") {
			return fmt.Sprintf("the schema of conch is missing or old (%s): run `conch migrate up`", sent.Message)
		}
	case codeReadOnly:
		return fmt.Sprintf("the database takes no writes (%s): is it a standby, or is default_transaction_read_only on, as hosted services set it when a disk is full?", sent.Message)
	case codeNoPrivilege:
		if hidesRows(sent) {
			return fmt.Sprintf("row-level security is on in the schema conch, and conch needs to see every row (%s): as the owner of the schema, "+
				"ALTER TABLE … DISABLE ROW LEVEL SECURITY; `conch doctor` names the tables", sent.Message)
		}
		return fmt.Sprintf("the database user lacks a privilege (%s): run deploy/grants.sql as the owner of the schema, or connect as a role that it names", sent.Message)
	case codeTooManyConns:
		return fmt.Sprintf("%s has no connection left (%s): raise max_connections, or run fewer programs on it", at, sent.Message)
	case codeStarting:
		return fmt.Sprintf("%s is starting up or shutting down (%s): try again in a moment", at, sent.Message)
	case codeCanceled, CodeLockTimeout:
		return fmt.Sprintf("the database took too long (%s): see what holds it up in pg_stat_activity", sent.Message)
	}
	return ""
}

func fromConnecting(err error) string {
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); !connecting {
		return ""
	}
	at, _, _ := target(err)
	if text := fromTLS(at, err); text != "" {
		return text
	}
	return fromNetwork(at, err)
}

func fromTLS(at string, err error) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return fmt.Sprintf("the certificate of %s is signed by an authority that is not trusted: name its CA file in %s", at, EnvCAFile)
	case errors.As(err, &host):
		return fmt.Sprintf("the certificate of %s is for another host (%v): name the host in %s as the certificate does", at, host, EnvURL)
	case errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is not valid (%v): renew it", at, invalid)
	case errors.As(err, &record):
		return fmt.Sprintf("%s does not speak TLS: is it PostgreSQL?", at)
	case strings.Contains(err.Error(), "server refused TLS connection"): // pgx has no type for it
		return fmt.Sprintf("%s offers no TLS, and the configuration asks for it: set ssl = on there, or take %s, %s and sslmode out", at, EnvCAFile, EnvInsecure)
	}
	return ""
}

func fromNetwork(at string, err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("there is no host %q: correct it in %s", dns.Name, EnvURL)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s: start PostgreSQL, or correct %s", at, EnvURL)
	case errors.Is(err, syscall.ENOENT):
		return fmt.Sprintf("there is no %s: start PostgreSQL, or name its host in %s", at, EnvURL)
	case errors.Is(err, syscall.EACCES):
		return fmt.Sprintf("this user may not open %s: run as another user, or correct %s", at, EnvURL)
	case pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf(tooLate, at)
	case IsLost(err) && !errors.Is(err, context.Canceled):
		return fmt.Sprintf("the connection to %s is gone: is it running?", at)
	}
	return ""
}

func fromLine(err error) string {
	_, ofLine := errors.AsType[*LineError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case pgconn.Timeout(err): // the end of a context alone may come from elsewhere
		return fmt.Sprintf(tooLate, "the database server")
	case ofLine, errors.Is(err, pgconn.ErrConnClosed):
		return "the connection to the database server is gone: is it running?"
	}
	return ""
}

const tooLate = "%s did not answer in time: is it reachable from here, and not overloaded?"

// target returns the target of an error of connecting; later errors do not contain it.
func target(err error) (at, user, db string) {
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) || connect.Config == nil {
		return "the database server", "", ""
	}
	c := connect.Config
	db = c.Database
	if db == "" {
		db = c.User
	}
	return where(c), c.User, db
}
