package pg

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// headStart is how long an address is tried alone before the next one is tried beside it.
const headStart = 500 * time.Millisecond

// connect opens a connection to the first address that answers and is what target_session_attrs asks
// for. Every connection of conch is opened here. pgx alone tries one address after the other, each for
// the whole connect_timeout, so that one that is silent would use up all the time of the caller.
func connect(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := reach(ctx, cfg, cfg.ValidateConnect)
	if cfg.ValidateConnect != nil && ctx.Err() == nil && isSecondChoice(err) {
		return reach(ctx, cfg, nil)
	}
	return conn, err
}

func reach(ctx context.Context, cfg *pgx.ConnConfig, fit pgconn.ValidateConnectFunc) (*pgx.Conn, error) {
	hosts := split(cfg, fit)
	return race(ctx, cfg.ConnString(), hosts, func(ctx context.Context, host place) (*pgx.Conn, error) {
		return race(ctx, cfg.ConnString()+"\n"+host.name, host.addresses(ctx), func(ctx context.Context, p place) (*pgx.Conn, error) { return pgx.ConnectConfig(ctx, p.cfg) })
	})
}

// place is where the database may be: a host of the URL, or one address of its name.
type place struct {
	name string
	cfg  *pgx.ConnConfig
}

// split returns the hosts of a configuration. A host keeps its attempts with and without TLS.
func split(cfg *pgx.ConnConfig, fit pgconn.ValidateConnectFunc) (hosts []place) {
	attempts := append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...)
	for _, a := range attempts {
		if n := len(hosts); n > 0 && hosts[n-1].cfg.Host == a.Host && hosts[n-1].cfg.Port == a.Port {
			hosts[n-1].cfg.Fallbacks = append(hosts[n-1].cfg.Fallbacks, a)
			continue
		}
		one := cfg.Copy()
		one.Host, one.Port, one.TLSConfig, one.Fallbacks = a.Host, a.Port, a.TLSConfig, nil
		hosts = append(hosts, place{name: where(&one.Config), cfg: one})
	}
	for _, host := range hosts {
		host.cfg.ValidateConnect = judged(fit, len(hosts) > 1)
	}
	return hosts
}

// addresses looks the name of a host up. A name that cannot be found is a place of which pgx says why.
func (p place) addresses(ctx context.Context) []place {
	if isSocket(p.cfg.Host) {
		return []place{p}
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectTimeout)
	defer cancel()
	ips, err := p.cfg.LookupFunc(ctx, p.cfg.Host)
	if err != nil || len(ips) < 2 {
		p.cfg.LookupFunc = func(context.Context, string) ([]string, error) { return ips, err }
		return []place{p}
	}
	found := make([]place, len(ips))
	for i, ip := range ips {
		one := p.cfg.Copy()
		one.LookupFunc = func(context.Context, string) ([]string, error) { return []string{ip}, nil }
		one.ValidateConnect = judged(p.cfg.ValidateConnect, true)
		found[i] = place{name: p.name + " (" + ip + ")", cfg: one}
	}
	return found
}

// Settle makes a configuration that has several addresses name the one that is good now. A pool opens its
// connections itself, one address after the other, so it is given one that has just answered.
func Settle(ctx context.Context, cfg *pgx.ConnConfig) error {
	if alone(ctx, split(cfg, nil)) {
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

func alone(ctx context.Context, hosts []place) bool {
	return len(hosts) == 1 && len(hosts[0].addresses(ctx)) == 1
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

// Address is what came of trying one address.
type Address struct {
	Outcome string
	// Bad is set if the address could not be used. One that is not what target_session_attrs asks for
	// now, such as a standby, is as it should be.
	Bad bool
}

const addressPatience = 3 * time.Second

// Addresses tries each address of a database, all at once. It returns none if there is only one.
func Addresses(ctx context.Context, c Config) ([]Address, error) {
	cfg, err := c.Parse()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(addressPatience, cfg.ConnectTimeout))
	defer cancel()
	hosts := split(cfg, cfg.ValidateConnect)
	if alone(ctx, hosts) {
		return nil, nil
	}
	each := make([][]Address, len(hosts))
	var all sync.WaitGroup
	for i, host := range hosts {
		all.Go(func() {
			places := host.addresses(ctx)
			each[i] = make([]Address, len(places))
			for j, p := range places {
				all.Go(func() {
					began := time.Now()
					conn, err := pgx.ConnectConfig(ctx, p.cfg)
					if err != nil {
						each[i][j] = Address{Outcome: tried{at: p.name, err: err, took: time.Since(began)}.String(), Bad: !isUnfit(err)}
						return
					}
					each[i][j].Outcome = p.name + ": answers"
					leave(conn)
				})
			}
		})
	}
	all.Wait()
	return slices.Concat(each...), nil
}
