package pg

import (
	"cmp"
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
			return harmless(text)
		}
	}
	return harmless(strings.ReplaceAll(err.Error(), "\n", "; ")) // several are joined by lines
}

// hidesRows reports whether a statement was refused since policies would hide rows from it.
func hidesRows(sent *pgconn.PgError) bool { return sent.Routine == "check_enable_rls" }

// sentence is an error of this package that is a sentence already.
type sentence interface {
	error
	sentence()
}

func (*ConfigError) sentence()    {}
func (*VersionError) sentence()   {}
func (*StandbyError) sentence()   {}
func (*PoolerError) sentence()    {}
func (*OwnerError) sentence()     {}
func (*SilenceError) sentence()   {}
func (*LockedError) sentence()    {}
func (*addressesError) sentence() {}

// own drops the wrappers of this package's errors.
func own(err error) string {
	if ours, are := errors.AsType[sentence](err); are {
		return ours.Error()
	}
	return ""
}

func fromConnecting(err error) string {
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); !connecting {
		return ""
	}
	at, _, _ := target(err)
	if unfit, is := errors.AsType[*unfitError](err); is {
		return fmt.Sprintf("%s %s: name all hosts in %s, or change its target_session_attrs", at, unfit.is, EnvURL)
	}
	tries := attempts(err)
	err = tries[len(tries)-1] // where TLS was refused and may be left out, the next try came further
	if text := fromTLS(at, err); text != "" {
		return text
	}
	if text := fromNetwork(at, err); text != "" || errors.Is(err, context.Canceled) {
		return text
	}
	why := err
	for inner := why; inner != nil; inner = errors.Unwrap(inner) { // the innermost says what happened, and repeats no name
		why = inner
	}
	text, _, _ := strings.Cut(why.Error(), ": %!w(") // pgx wraps an error that there is not
	return fmt.Sprintf("the connection to %s failed (%s): is it PostgreSQL? If it is, correct %s", at, text, EnvURL)
}

func fromTLS(at string, err error) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return fmt.Sprintf("the certificate of %s is signed by itself or by an authority that is not trusted: name the file of its authority in %s, "+
			"or encrypt without knowing the server with %s=1, as psql does for sslmode=require", at, EnvCAFile, EnvInsecure)
	case errors.As(err, &host):
		return fmt.Sprintf("the certificate of %s is for another host (%v): name the host in %s as the certificate does", at, host, EnvURL)
	case errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is not valid (%v): renew it", at, invalid)
	case errors.As(err, &record):
		return fmt.Sprintf("%s does not speak TLS: is it PostgreSQL?", at)
	case strings.Contains(err.Error(), "remote error: tls: "):
		_, alert, _ := strings.Cut(err.Error(), "remote error: tls: ")
		return fmt.Sprintf("%s refused TLS with this program (%s): if it asks for a certificate, name one with sslcert and sslkey in %s", at, alert, EnvURL)
	case strings.Contains(err.Error(), "server refused TLS connection"): // pgx has no type for it
		return fmt.Sprintf("%s offers no TLS, and the configuration asks for it: is it PostgreSQL? If it is, set ssl = on there, or take %s, %s and sslmode out", at, EnvCAFile, EnvInsecure)
	}
	return ""
}

func fromNetwork(at string, err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsTimeout:
		return fmt.Sprintf("the name %q was not looked up in time: is its name server reachable from here?", dns.Name)
	case errors.As(err, &dns) && !dns.IsNotFound:
		return fmt.Sprintf("the name %q was not looked up (%s): ask the name server", dns.Name, dns.Err)
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
		return fmt.Sprintf("the connection to %s is gone: is it PostgreSQL, and is it running?", at)
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
	return where(c), c.User, cmp.Or(c.Database, c.User)
}
