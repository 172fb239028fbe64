//go:build unix

package node

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/conchhq/conch/cmd/conch/internal/certificate"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/internal/expiry"
)

// met is a service to which a peer has shown a certificate, until it is gone.
type met struct {
	Plain
	gone *bool
	ends time.Time
}

func (m met) Papers(now time.Time) []certificate.Paper {
	if *m.gone {
		return nil
	}
	return []certificate.Paper{{Verdict: expiry.At(time.Time{}, m.ends, now), Name: "peer:b", What: "the certificate of peer b", Remedy: "have it renewed there"}}
}

// A node that runs looks again and again: the log has a line with each step towards an end, with the remedy, and none in between; the
// metric says how long each certificate lasts; and one that was renewed, or that nobody shows any more, is over.
func TestANodeLooksAtItsCertificates(t *testing.T) {
	t.Parallel()
	now, gone := time.Now().Truncate(time.Second), false
	file := filepath.Join(t.TempDir(), "tls.pem")
	issue := func(lasts time.Duration) {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "api"}, NotAfter: now.Add(lasts)}
		raw, err := x509.CreateCertificate(nil, c, c, key.Public(), key)
		if err == nil {
			err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * time.Hour
	issue(40 * day)
	var log bytes.Buffer
	n := newNode(t.Context(), Options{Config: config.Config{Node: config.Node{TLSCert: file, Standalone: true}}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer n.endOver()
	n.services = &services{all: []Service{met{gone: &gone, ends: now.Add(8 * day)}}}
	for _, c := range []struct {
		after   time.Duration
		lines   []string // of the log, since the look before
		seconds string   // of the metric
		then    func()
	}{
		{after: 0, lines: []string{"level=INFO msg=\"the certificate of peer b ends in 8 days"}, seconds: "peer:b 691200, tls 3456000"},
		{after: time.Minute, seconds: "peer:b 691140, tls 3455940"},
		{after: 7*day + time.Hour, lines: []string{"level=WARN msg=\"the certificate of peer b ends in 23h0m0s"}, seconds: "peer:b 82800, tls 2847600"},
		{after: 9 * day, lines: []string{"level=ERROR msg=\"the certificate of peer b ended 24h0m0s ago"}, seconds: "peer:b -86400, tls 2678400", then: func() { gone = true }},
		{after: 33 * day, lines: []string{"level=WARN msg=\"the certificate of the API in " + file + " ends in 7 days"}, seconds: "tls 604800", then: func() { issue(90 * day) }},
		{after: 34 * day, seconds: "tls 4838400", then: func() { _ = os.Remove(file) }},
		{after: 35 * day, seconds: ""},
	} {
		log.Reset()
		n.lookAtPapers(now.Add(c.after))
		if got := strings.Count(log.String(), "\n"); got != len(c.lines) {
			t.Errorf("after %v: %d lines, want %d:\n%s", c.after, got, len(c.lines), &log)
		}
		for _, line := range c.lines {
			if !strings.Contains(log.String(), line) || !strings.Contains(log.String(), "remedy=") {
				t.Errorf("after %v: the log says\n%s\nwant %q", c.after, &log, line)
			}
		}
		var metric []string
		for _, name := range []string{"peer:b", "tls"} {
			if strings.Contains(c.seconds, name) {
				metric = append(metric, name+" "+seconds(testutil.ToFloat64(n.expiry.WithLabelValues(name))))
			}
		}
		if got := strings.Join(metric, ", "); got != c.seconds || testutil.CollectAndCount(n.expiry) != len(metric) {
			t.Errorf("after %v: the metric says %s, want %s", c.after, got, c.seconds)
		}
		if c.then != nil {
			c.then()
		}
	}
}

func seconds(f float64) string { return strconv.FormatInt(int64(f), 10) }
