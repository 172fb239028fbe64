package pg

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/internal/secretfile"
)

// secure decides TLS for every host of the connection string (S28):
//
//	insecure flag      encrypt, verify nothing
//	CA file            verify chain and host against that file
//	sslmode=require    verify chain and host against the system's roots. libpq
//	                   verifies nothing here; we are stricter, since encryption
//	                   with an unknown server is rarely intended, and a refusal
//	                   names both ways on. With sslrootcert it is verify-ca, as
//	                   in libpq
//	any other sslmode  as pgx and libpq do it
//
// The first two never fall back to plain text, whatever the URL says. A Unix
// socket has no TLS.
func (c Config) secure(parsed *pgx.ConnConfig) error {
	roots, err := c.roots()
	if err != nil {
		return err
	}
	hosts := inTurn(parsed)
	switch {
	case c.TLSInsecure:
		hosts = forced(hosts, parsed.SSLNegotiation, func(conf *tls.Config, _ string) { conf.InsecureSkipVerify = true })
	case roots != nil:
		hosts = forced(hosts, parsed.SSLNegotiation, func(conf *tls.Config, host string) { verify(conf, host, roots) })
	default:
		verifyRequired(hosts)
	}
	parsed.Host, parsed.Port, parsed.TLSConfig = hosts[0].Host, hosts[0].Port, hosts[0].TLSConfig
	parsed.Fallbacks = hosts[1:]
	return nil
}

func (c Config) roots() (*x509.CertPool, error) {
	if c.TLSInsecure && c.TLSCAFile != "" {
		return nil, &ConfigError{Reason: EnvInsecure + " and " + EnvCAFile + " contradict each other: set one of them"}
	}
	roots, err := secretfile.Roots(c.TLSCAFile)
	if err != nil {
		return nil, &ConfigError{Reason: fmt.Sprintf("%s cannot be read: %v", EnvCAFile, err), Err: err}
	}
	return roots, nil
}

// forced keeps one attempt per host, with our TLS, and drops the plain text of sslmode=prefer.
func forced(hosts []*pgconn.FallbackConfig, negotiation string, set func(*tls.Config, string)) []*pgconn.FallbackConfig {
	certs := clientCertificates(hosts)
	hosts = slices.CompactFunc(hosts, func(a, b *pgconn.FallbackConfig) bool { return a.Host == b.Host && a.Port == b.Port }) // pgx has them one after the other
	for _, host := range hosts {
		host.TLSConfig = nil
		if !isSocket(host.Host) {
			host.TLSConfig = &tls.Config{ServerName: host.Host, Certificates: certs, MinVersion: tls.VersionTLS12}
			if negotiation == "direct" { // the server refuses a client that does not name its protocol
				host.TLSConfig.NextProtos = []string{"postgresql"}
			}
			set(host.TLSConfig, host.Host)
		}
	}
	return hosts
}

// verifyRequired turns on verification for sslmode=require, which pgx does not verify.
func verifyRequired(hosts []*pgconn.FallbackConfig) {
	plain := make(map[string]bool)
	for _, host := range hosts {
		if host.TLSConfig == nil {
			plain[host.Host] = true
		}
	}
	for _, host := range hosts {
		conf := host.TLSConfig
		if conf != nil && !plain[host.Host] && conf.InsecureSkipVerify && conf.VerifyPeerCertificate == nil {
			verify(conf, host.Host, nil)
		}
	}
}

// verify makes conf verify chain and host; nil means the roots of the system.
func verify(conf *tls.Config, host string, roots *x509.CertPool) {
	conf.InsecureSkipVerify = false
	conf.RootCAs = roots
	conf.ServerName = host
}

func clientCertificates(hosts []*pgconn.FallbackConfig) []tls.Certificate {
	for _, host := range hosts {
		if host.TLSConfig != nil && len(host.TLSConfig.Certificates) > 0 {
			return host.TLSConfig.Certificates
		}
	}
	return nil
}

func isSocket(host string) bool {
	return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@")
}
