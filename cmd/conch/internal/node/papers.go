package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/certificate"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/internal/expiry"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg"
)

const (
	lookEvery    = time.Minute // a certificate may last for an hour only
	serverEvery  = time.Hour   // between looks at that of the database's server, each of which is a connection
	serverWithin = 30 * time.Second
)

// Papers returns the certificates that a configuration names.
func Papers(c config.Config, kinds []Kind, now time.Time) (all []certificate.Paper) {
	all = certificate.Chain(all, certificate.Paper{
		Name: "tls", Key: "node.tls_cert", What: "the certificate of the API in " + c.Node.TLSCert, Remedy: "put a new one there: it is read by itself, with the next connection",
	}, certificate.Read(c.Node.TLSCert), now)
	if c.UsesDatabase() {
		all = certificate.Chain(all, certificate.Paper{
			Name: "database.client", Key: "database.url", What: "the certificate by which this node logs in to the database (sslcert)",
			Remedy: "have a new one made for the same role, and restart the node: sessions that are open stay, and no new one is opened after its end",
		}, c.Database.Connection("").ClientCertificate(), now)
		all = certificate.Authority(all, "database.ca", "database.url", c.Database.TLSCAFile, now)
	}
	for _, k := range kinds {
		if k.Papers != nil && c.Read() {
			all = append(all, k.Papers(c, now)...)
		}
	}
	return all
}

var levels = map[doctor.Status]slog.Level{doctor.OK: slog.LevelInfo, doctor.Warn: slog.LevelWarn, doctor.Fail: slog.LevelError}

// lookAtPapers logs what has become of certificates since the last look, and measures them.
func (n *Node) lookAtPapers(now time.Time) {
	all := append(Papers(n.latest, n.opts.Kinds, now), gather(n.services, func(s Service) []certificate.Paper { return s.Papers(now) })...)
	if chain := n.server.Load(); chain != nil {
		all = certificate.Chain(all, certificate.Paper{
			Name: "database", What: "the certificate of the database's server", Remedy: "renew it on the server: sessions that are open stay, and no new one is opened after its end",
		}, *chain, now)
	}
	grades := map[string]expiry.Grade{}
	for _, p := range all {
		n.expiry.WithLabelValues(p.Name).Set(p.Ends.Sub(now).Seconds())
		if grades[p.Name] = p.Grade; p.Grade != n.grades[p.Name] && p.Grade != expiry.Well {
			f := p.Finding()
			n.log.Log(n.over, levels[f.Status], f.Detail, slog.String("certificate", p.Name), slog.String("remedy", p.Remedy))
		}
	}
	for name := range n.grades {
		if _, still := grades[name]; !still {
			n.expiry.DeleteLabelValues(name)
		}
	}
	n.grades = grades
}

// watchServer looks again and again how long the certificate of the database's server lasts. It is that of a new connection, since the
// old ones show what the server had when they were opened.
func (n *Node) watchServer(ctx context.Context) {
	for wait := time.Duration(0); pause.For(ctx, wait) == nil; {
		within, cancel := context.WithTimeout(ctx, serverWithin)
		chain, err := pg.ServerCertificate(within, n.cfg.Database.Connection(" certificate"))
		cancel()
		if wait = lookEvery; err == nil { // others report that the database is away
			wait = serverEvery
			n.server.Store(&chain)
		}
	}
}
