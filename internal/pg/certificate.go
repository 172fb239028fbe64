package pg

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// ServerCertificate connects, and returns what proves the server, its own certificate first; nil if there is no TLS, or nobody
// verifies it. If the connection fails since a certificate has ended it returns that one: a session that was opened before may last
// for months, and what replaces it will fail.
func ServerCertificate(ctx context.Context, c Config) (chain []*x509.Certificate, err error) {
	parsed, err := c.Parse()
	if err != nil || !verifies(parsed.TLSConfig) {
		return nil, err
	}
	err = With(ctx, c, func(conn *pgx.Conn) error {
		chain = Verified(conn)
		return nil
	})
	if invalid, is := errors.AsType[x509.CertificateInvalidError](err); is && invalid.Reason == x509.Expired {
		return []*x509.Certificate{invalid.Cert}, nil
	}
	return chain, err
}

// Verified returns the certificates by which a connection's server was verified, its own first; nil if none was.
func Verified(conn *pgx.Conn) []*x509.Certificate {
	link, is := conn.PgConn().Conn().(*tls.Conn)
	if !is {
		return nil
	}
	state, conf := link.ConnectionState(), conn.Config().TLSConfig
	if len(state.VerifiedChains) > 0 {
		return state.VerifiedChains[0]
	}
	if verifies(conf) {
		return state.PeerCertificates
	}
	return nil
}

// verifies reports whether a server's certificate is looked at. The standard library does, and records verified chains; our own
// verification, and that of sslmode=verify-ca, is a function in the configuration.
func verifies(conf *tls.Config) bool {
	return conf != nil && (!conf.InsecureSkipVerify || conf.VerifyPeerCertificate != nil || conf.VerifyConnection != nil)
}

// ClientCertificate returns the certificate by which the connections prove who they are, and those that lead from it to a CA; nil if
// there is none.
func (c Config) ClientCertificate() (chain []*x509.Certificate) {
	parsed, err := c.Parse()
	if err != nil || parsed.TLSConfig == nil || len(parsed.TLSConfig.Certificates) == 0 {
		return nil
	}
	chain, _ = x509.ParseCertificates(slices.Concat(parsed.TLSConfig.Certificates[0].Certificate...))
	return chain
}
