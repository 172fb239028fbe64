package pg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
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
	parsed, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return nil, &ConfigError{Reason: parseReason(err)}
	}
	if strings.Contains(parsed.Host, "@") { // the text before it is part of the password
		return nil, &ConfigError{Reason: "there is an @ in its password: write it as %40"}
	}
	if err := c.secure(parsed); err != nil {
		return nil, err
	}
	// Otherwise a database in LATIN1 takes each byte of a name for a letter.
	parsed.RuntimeParams["client_encoding"] = "UTF8"
	if parsed.RuntimeParams["application_name"] == "" && c.AppName != "" {
		parsed.RuntimeParams["application_name"] = c.AppName
	}
	if c.Unnamed {
		parsed.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if parsed.ConnectTimeout == 0 {
		parsed.ConnectTimeout = connectTimeout
	}
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

func describe(c *pgconn.Config) string {
	db := c.Database
	if db == "" {
		db = c.User // as libpq and the server do
	}
	return fmt.Sprintf("database %q on %s as user %q", db, where(c), c.User)
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
	conn, err := pgx.ConnectConfig(ctx, parsed)
	if err != nil {
		return nil, err
	}
	if _, err := Narrow(ctx, conn, Plain); err != nil {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		_ = conn.Close(bye)
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

// parseReason returns the part of pgx's message that cannot contain a password: pgx quotes
// the connection string, and the text that it could not parse may be the password.
func parseReason(err error) string {
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); !ok {
		return "it cannot be parsed"
	}
	text := err.Error()
	if i := strings.LastIndex(text, "`: "); i >= 0 {
		text = text[i+len("`: "):]
	}
	for _, speaksOfFiles := range []string{"failed to configure TLS", "failed to read service"} {
		if strings.HasPrefix(text, speaksOfFiles) {
			return text
		}
	}
	if strings.HasPrefix(text, "failed to parse as keyword/value") {
		return "it is neither a URL nor a list of keywords and values: write " + example
	}
	text, _, _ = strings.Cut(text, " (")
	return text
}

const example = "postgres://user@host:5432/database"

var scheme = regexp.MustCompile(`^([a-z][a-z0-9+:]*)://`)

// foreign returns the scheme of a URL that is not PostgreSQL's. It contains no password.
func foreign(url string) string {
	found := scheme.FindStringSubmatch(url)
	if found == nil || found[1] == "postgres" || found[1] == "postgresql" {
		return ""
	}
	return found[1]
}
