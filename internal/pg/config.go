package pg

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The environment variables that FromEnv reads.
const (
	EnvURL      = "CONCH_DB_URL"
	EnvInsecure = "CONCH_DB_TLS_INSECURE"
	EnvCAFile   = "CONCH_DB_TLS_CA_FILE"
)

// connectTimeout applies when neither the URL nor PGCONNECT_TIMEOUT sets one: without
// it, connecting to a host that drops packets takes minutes.
const connectTimeout = 10 * time.Second

// longestSocket is the longest path of a Unix socket, in bytes: a NUL ends it.
const longestSocket = len(syscall.RawSockaddrUnix{}.Path) - 1

// Config names a database and says how to verify its server.
type Config struct {
	URL         string // URL or keyword/value; empty means the PG* variables
	TLSInsecure bool   // encrypt, verify nothing
	TLSCAFile   string // verify chain and host against this file
	AppName     string // application_name, unless the URL has one
	// Unnamed gives prepared statements no names: another backend of a pool does not
	// know a name, or knows it already.
	Unnamed bool
}

// FromEnv reads a Config from the environment. Only "1" and "true" set the insecure
// flag: a typo must not switch verification off (S28).
func FromEnv(getenv func(string) string) (Config, error) {
	insecure := getenv(EnvInsecure)
	cfg := Config{
		URL:         getenv(EnvURL),
		TLSInsecure: insecure == "1" || insecure == "true",
		TLSCAFile:   getenv(EnvCAFile),
	}
	_, err := cfg.Parse()
	return cfg, err
}

// Parse returns the configuration of every connection of conch, TLS included.
func (c Config) Parse() (*pgx.ConnConfig, error) {
	if scheme := foreign(c.URL); scheme != "" {
		return nil, &ConfigError{Reason: fmt.Sprintf("it begins with %s://, and conch works with PostgreSQL alone: write %s", scheme, example)}
	}
	if reason := ambiguous(c.URL); reason != "" {
		return nil, &ConfigError{Reason: reason}
	}
	parsed, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return nil, &ConfigError{Reason: parseReason(err)}
	}
	if err := c.secure(parsed); err != nil {
		return nil, err
	}
	for _, host := range split(parsed, nil) {
		if path := strings.TrimPrefix(host.name, "socket "); path != host.name && len(path) > longestSocket {
			return nil, &ConfigError{Reason: fmt.Sprintf("the path of its socket, %s, has %d bytes, and the system takes %d: use a shorter folder", path, len(path), longestSocket)}
		}
	}
	// Otherwise a database in LATIN1 takes each byte of a name for a letter.
	parsed.RuntimeParams["client_encoding"] = "UTF8"
	if parsed.RuntimeParams["application_name"] == "" && c.AppName != "" {
		parsed.RuntimeParams["application_name"] = c.AppName
	}
	if c.Unnamed {
		parsed.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	parsed.ConnectTimeout = cmp.Or(parsed.ConnectTimeout, connectTimeout)
	parsed.DialFunc = marked(parsed.DialFunc)
	return parsed, nil
}

// Redact describes the target for messages, without the password.
func (c Config) Redact() string {
	parsed, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return "an unusable " + EnvURL
	}
	return describe(&parsed.Config)
}

// Target describes what a connection is connected with, without the password.
func Target(conn *pgx.Conn) string { return describe(&conn.Config().Config) }

func describe(c *pgconn.Config) string {
	// Without a name the database is that of the user, as libpq and the server have it.
	return fmt.Sprintf("database %q on %s as user %q", cmp.Or(c.Database, c.User), where(c), c.User)
}

func where(c *pgconn.Config) string {
	port := strconv.Itoa(int(c.Port))
	if isSocket(c.Host) {
		return "socket " + c.Host + "/.s.PGSQL." + port
	}
	return net.JoinHostPort(c.Host, port)
}

// Connect opens a plain connection, for work that holds no lock between statements. Its statements
// have limits, unless a pooler is in between.
func Connect(ctx context.Context, c Config) (*pgx.Conn, error) {
	parsed, err := c.Parse()
	if err != nil {
		return nil, err
	}
	Heed(parsed)
	conn, err := connect(ctx, parsed)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if _, err := Narrow(ctx, conn, Plain); err != nil {
		leave(conn)
		return nil, err
	}
	return conn, nil
}

// With runs f over a plain connection of its own, which it closes, and names what held f up: see Locked.
func With(ctx context.Context, c Config, f func(*pgx.Conn) error) error {
	conn, err := Connect(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return Locked(ctx, c, f(conn))
}
