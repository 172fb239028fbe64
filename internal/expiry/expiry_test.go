package expiry_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/expiry"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func TestAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, until time.Duration // from now
		grade       expiry.Grade
		text        string
	}{
		{-day, 90 * day, expiry.Well, "ends in 90 days, on 2026-05-30 12:00 UTC"},
		{-day, 30 * day, expiry.Month, "ends in 30 days"},
		{-day, 7*day + time.Second, expiry.Month, "ends in 7 days"},
		{-day, 7 * day, expiry.Week, "ends in 7 days"},
		{-day, 36 * time.Hour, expiry.Week, "ends in 36h0m0s"},
		{-day, day, expiry.Day, "ends in 24h0m0s"},
		{-day, 30 * time.Second, expiry.Day, "ends in 30s"},
		{-day, 0, expiry.Day, "ends in 0s"},
		{-day, -time.Second, expiry.Ended, "ended 1s ago, on 2026-03-01 11:59 UTC"},
		{-day, -2 * time.Hour, expiry.Ended, "ended 2h0m0s ago"},
		{5 * time.Minute, day, expiry.Early, "begins in 5m0s, on 2026-03-01 12:05 UTC: if that is in the past, this machine's clock is slow"},
	} {
		v := expiry.At(now.Add(c.from), now.Add(c.until), now)
		if v.Grade != c.grade || !strings.HasPrefix(v.Text, c.text) || !v.Ends.Equal(now.Add(c.until)) {
			t.Errorf("from %v to %v: got %+v, want %q", c.from, c.until, v, c.text)
		}
	}
}

// A certificate is worth no more than what has signed it; where two have, the longer one counts; and what has signed nothing of it, not.
func TestAChainEndsWithItsFirst(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	made := func(name string, of *x509.Certificate, ends time.Duration) *x509.Certificate {
		c := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-day), NotAfter: now.Add(ends),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		if of == nil {
			of = c
		}
		raw, err := x509.CreateCertificate(nil, c, of, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		c, err = x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	root := made("root", nil, 20*day)
	long, short := made("between", root, 9*day), made("between", root, 4*day)
	leaf, stray := made("leaf", long, 15*day), made("stray", nil, -day)
	for what, c := range map[string]struct {
		chain []*x509.Certificate
		ends  time.Duration
	}{
		"alone":                    {[]*x509.Certificate{leaf}, 15 * day},
		"signed by what is over":   {[]*x509.Certificate{leaf, short, root}, 4 * day},
		"the longer of two":        {[]*x509.Certificate{leaf, short, long, root}, 9 * day},
		"in another order":         {[]*x509.Certificate{leaf, root, long, short}, 9 * day},
		"beside what is not its":   {[]*x509.Certificate{leaf, stray, long, root}, 9 * day},
		"a CA":                     {[]*x509.Certificate{root}, 20 * day},
		"no more than is sensible": {[]*x509.Certificate{leaf, stray, stray, stray, stray, stray, stray, stray, stray, stray, long}, 15 * day},
	} {
		if v := expiry.Judge(c.chain, now); !v.Ends.Equal(now.Add(c.ends)) {
			t.Errorf("%s: ends %v, want after %v", what, v.Ends, c.ends)
		}
	}
	if v := expiry.JudgeAny([]*x509.Certificate{stray, short, root}, now); !v.Ends.Equal(now.Add(20 * day)) {
		t.Errorf("of CAs side by side the last one counts, and %v was returned", v.Ends)
	}
}
