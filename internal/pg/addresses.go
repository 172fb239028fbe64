package pg

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// connect opens a connection to the first address that answers and is what target_session_attrs asks
// for. Every connection of conch is opened here. pgx alone tries one address after the other, each for
// the whole connect_timeout, so that one that is silent would use up all the time of the caller.
func connect(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	return reach(ctx, cfg, fits(cfg.ValidateConnect, nil))
}

// fits returns what a connection has to pass. prefer-standby is taken as any: a leader needs a primary, and nothing of conch is the
// better for a standby.
func fits(asked, otherwise pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	if asked == nil {
		return otherwise
	}
	return func(ctx context.Context, conn *pgconn.PgConn) error { return unfit(conn, asked(ctx, conn)) }
}

// answers is what one of several places has to pass in any case: a pooler lets its clients in when its server is gone, and has to
// count as silent then.
func answers(ctx context.Context, conn *pgconn.PgConn) error { return conn.Ping(ctx) }

func reach(ctx context.Context, cfg *pgx.ConnConfig, fit pgconn.ValidateConnectFunc) (*pgx.Conn, error) {
	return race(ctx, cfg.ConnString(), split(cfg, fit), func(ctx context.Context, host place) (*pgx.Conn, error) {
		return race(ctx, cfg.ConnString()+"\n"+host.name, host.addresses(ctx), func(ctx context.Context, p place) (*pgx.Conn, error) {
			return pgx.ConnectConfig(ctx, p.cfg)
		})
	})
}

// place is where the database may be: a host of the URL, or one address of its name.
type place struct {
	name string
	cfg  *pgx.ConnConfig
}

// inTurn returns what pgx would try, one after the other.
func inTurn(cfg *pgx.ConnConfig) []*pgconn.FallbackConfig {
	return append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...)
}

// split returns the hosts of a configuration. A host keeps its attempts with and without TLS.
func split(cfg *pgx.ConnConfig, fit pgconn.ValidateConnectFunc) (hosts []place) {
	for _, a := range inTurn(cfg) {
		if n := len(hosts); n > 0 && hosts[n-1].cfg.Host == a.Host && hosts[n-1].cfg.Port == a.Port {
			hosts[n-1].cfg.Fallbacks = append(hosts[n-1].cfg.Fallbacks, a)
			continue
		}
		one := cfg.Copy()
		one.Host, one.Port, one.TLSConfig, one.Fallbacks, one.ValidateConnect = a.Host, a.Port, a.TLSConfig, nil, fit
		hosts = append(hosts, place{name: where(&one.Config), cfg: one})
	}
	for _, host := range hosts {
		if len(hosts) > 1 && fit == nil {
			host.cfg.ValidateConnect = answers
		}
	}
	return hosts
}

// addresses looks the name of a host up. Of a name without addresses pgx says why.
func (p place) addresses(ctx context.Context) (found []place) {
	if isSocket(p.cfg.Host) {
		return []place{p}
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectTimeout)
	defer cancel()
	ips, err := p.cfg.LookupFunc(ctx, p.cfg.Host)
	if err != nil || len(ips) < 2 {
		p.cfg = p.cfg.Copy()
		p.cfg.LookupFunc = func(context.Context, string) ([]string, error) { return ips, err }
		return []place{p}
	}
	for _, ip := range ips {
		one := place{name: p.name + " (" + ip + ")", cfg: p.cfg.Copy()}
		one.cfg.LookupFunc = func(context.Context, string) ([]string, error) { return []string{ip}, nil }
		if one.cfg.ValidateConnect == nil {
			one.cfg.ValidateConnect = answers
		}
		found = append(found, one)
	}
	return found
}

func alone(ctx context.Context, cfg *pgx.ConnConfig) bool {
	hosts := split(cfg, nil)
	return len(hosts) == 1 && len(hosts[0].addresses(ctx)) == 1
}

// Settle makes a configuration that has several addresses name the one that is good now. A pool opens its
// connections itself, one address after the other, so it is given one that has just answered.
func Settle(ctx context.Context, cfg *pgx.ConnConfig) error {
	if alone(ctx, cfg) {
		return nil
	}
	conn, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	pin(cfg, conn)
	leave(conn)
	return nil
}

// pin makes a configuration name the address of a connection alone.
func pin(cfg *pgx.ConnConfig, conn *pgx.Conn) {
	at := conn.Config()
	cfg.Host, cfg.Port, cfg.TLSConfig, cfg.Fallbacks, cfg.LookupFunc = at.Host, at.Port, at.TLSConfig, at.Fallbacks, at.LookupFunc
}

// leave closes a connection that nobody uses.
func leave(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	_ = conn.Close(ctx)
}

// Addresses tries each address of a database, however good the others are, and says what came of each; of a single one nothing. bad
// is true if one could not be used. One that is not what target_session_attrs asks for now, such as a standby, is as it should be.
func Addresses(ctx context.Context, c Config) (all []string, bad bool, err error) {
	cfg, err := c.Parse()
	if err != nil || alone(ctx, cfg) {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	fit := fits(cfg.ValidateConnect, answers)
	_, err = reach(ctx, cfg, func(ctx context.Context, conn *pgconn.PgConn) error { // none of them wins
		if err := fit(ctx, conn); err != nil {
			return err
		}
		return &unfitError{"answers"}
	})
	for _, one := range outcomes(err) {
		_, good := errors.AsType[*unfitError](one.err)
		// localhost has a second address, at which many servers do not listen.
		spare := strings.HasSuffix(one.name, "(::1)") && errors.Is(one.err, syscall.ECONNREFUSED)
		all, bad = append(all, one.String()), bad || !good && !spare
	}
	return all, bad, nil
}
