package pg

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"
)

// fromServer decides by SQLSTATE and routine: the message is in the server's language.
func fromServer(err error) string {
	sent := lastWord(err)
	if sent == nil {
		return ""
	}
	at, user, db := target(err)
	message := quoted(err, sent)
	switch sent.Code {
	case codeWrongPassword:
		return fmt.Sprintf("the password for user %q was refused by %s (%s): correct it in %s, PGPASSWORD or the password file", user, at, message, EnvURL)
	case codeNoAuthorization:
		if sent.Routine == "InitializeSessionUserId" {
			return fmt.Sprintf("there is no user %q on %s that may log in (%s): create it, or ALTER ROLE … LOGIN, or name another one in %s", user, at, message, EnvURL)
		}
		return fmt.Sprintf("the server does not let user %q in (%s): %s", user, message, remedy(message, "allow it in pg_hba.conf, or name another user in "+EnvURL))
	case codeNoDatabase:
		return fmt.Sprintf("there is no database %q on %s (%s): create it, or name another one in %s", db, at, message, EnvURL)
	case codeNoSchema, codeNoTable, codeNoFunction:
		if strings.Contains(message, "conch") {
			return fmt.Sprintf("the schema of conch is missing or old (%s): run `conch migrate up`", message)
		}
	case codeReadOnly:
		return fmt.Sprintf("the database takes no writes (%s): is it a standby, or is default_transaction_read_only on, as hosted services set it when a disk is full?", message)
	case codeNoPrivilege:
		if hidesRows(sent) {
			return fmt.Sprintf("row-level security is on in the schema conch, and conch needs to see every row (%s): as the owner of the schema, "+
				"ALTER TABLE … DISABLE ROW LEVEL SECURITY; `conch doctor` names the tables", message)
		}
		return fmt.Sprintf("the database user lacks a privilege (%s): run deploy/grants.sql as the owner of the schema, or connect as a role that it names", message)
	case codeTooManyConns:
		return fmt.Sprintf("%s has no connection left (%s): raise max_connections, or the limit of the role or the database if it is named here, or run fewer programs on it", at, message)
	case codeStarting:
		return fmt.Sprintf("%s is starting up or shutting down (%s): try again in a moment", at, message)
	case codeCanceled, CodeLockTimeout:
		return fmt.Sprintf("the database took too long (%s): `conch doctor` names locks on tables of conch, and pg_stat_activity has all that it does", message)
	}
	return whileConnecting(err, sent, at, message)
}

// whileConnecting says why a server or a pooler refused a connection, in its own words: nobody knows better.
func whileConnecting(err error, sent *pgconn.PgError, at, message string) string {
	connect, connecting := errors.AsType[*pgconn.ConnectError](err)
	if !connecting || connect.Config == nil {
		return ""
	}
	if sent.Code == codeNoParameter || strings.Contains(message, "startup parameter") {
		named := "" // the longest: keepalives is part of keepalives_idle
		for name := range connect.Config.RuntimeParams {
			if strings.Contains(message, name) && len(name) > len(named) {
				named = name
			}
		}
		if named != "" {
			return fmt.Sprintf("%s refuses the parameter %q (%s): take it out of %s; a pooler may be told to ignore it, PgBouncer by ignore_startup_parameters",
				at, named, message, EnvURL)
		}
	}
	return fmt.Sprintf("%s refused the connection (%s): %s", at, message, remedy(message, "mend that, or correct "+EnvURL))
}

// remedy knows some demands by their words; in another language than English the general remedy does.
func remedy(message, general string) string {
	for _, tls := range []string{"no encryption", "SSL off", "SSL required", "TLS required"} {
		if strings.Contains(message, tls) {
			return "ask for TLS with sslmode=verify-full in " + EnvURL
		}
	}
	if strings.Contains(message, "client certificate") {
		return "name the certificate with sslcert and sslkey in " + EnvURL
	}
	return general
}

// lastWord returns what a server said. Of several attempts at one address, with and without TLS, it prefers
// the last that pg_hba.conf did not end: that one came furthest.
func lastWord(err error) (last *pgconn.PgError) {
	for _, one := range attempts(err) {
		if sent, said := errors.AsType[*pgconn.PgError](one); said && (last == nil || sent.Code != codeNoAuthorization) {
			last = sent
		}
	}
	return last
}

// attempts returns the errors of several attempts at one address, such as with and without TLS.
func attempts(err error) []error {
	if connect, connecting := errors.AsType[*pgconn.ConnectError](err); connecting {
		if several, are := connect.Unwrap().(interface{ Unwrap() []error }); are {
			return several.Unwrap()
		}
	}
	return []error{err}
}

// quoted returns the message of a server as it may be shown: it may be anybody, and repeat what it was sent.
func quoted(err error, sent *pgconn.PgError) string {
	message := sent.Message
	if connect, connecting := errors.AsType[*pgconn.ConnectError](err); connecting && connect.Config != nil && len(connect.Config.Password) > 3 {
		message = strings.ReplaceAll(message, connect.Config.Password, "…")
	}
	if len(message) > longestText {
		message = message[:longestText] + "…"
	}
	return message
}

// harmless returns text as one line that moves no cursor and turns no direction.
func harmless(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }), " ")
}
