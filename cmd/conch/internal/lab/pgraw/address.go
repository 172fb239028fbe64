package pgraw

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// WithDatabase returns the URL with another database name.
func WithDatabase(address, name string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme != "" {
		u.Path = "/" + name
		q := u.Query()
		q.Del("dbname")
		u.RawQuery = q.Encode()
		return u.String()
	}
	return strings.TrimSpace(address + " dbname=" + name) // the last dbname counts
}

// Target returns the address behind a URL for a proxy: host:port, or the path of a Unix socket.
func Target(address string) (string, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return "", err
	}
	port := strconv.Itoa(int(c.Port))
	if strings.HasPrefix(c.Host, "/") {
		return filepath.Join(c.Host, ".s.PGSQL."+port), nil
	}
	return net.JoinHostPort(c.Host, port), nil
}

// Through returns the URL with a proxy's address. Over TLS the server's name cannot be
// verified, since the proxy is in between.
func Through(address, proxy string) (string, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return "", err
	}
	mode := "disable"
	if c.TLSConfig != nil {
		mode = "require"
	}
	u := url.URL{
		Scheme: "postgres", User: url.User(c.User), Host: proxy, Path: "/" + c.Database,
		RawQuery: fmt.Sprintf("sslmode=%s", mode),
	}
	if c.Password != "" {
		u.User = url.UserPassword(c.User, c.Password)
	}
	return u.String(), nil
}
