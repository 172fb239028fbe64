// Package expiry judges certificates by a clock. The doctor, the check of a configuration, the metrics and the log of a node ask this
// one judgement, so none of them calls well what another one calls ended.
package expiry

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"
)

// Grade is how near an end is.
type Grade int

// The grades. A certificate is worth a line in the log with each step that it takes.
const (
	Well  Grade = iota
	Month       // 30 days are left, or less
	Week        // 7 days
	Day
	Ended
	Early // it has not begun
)

const day = 24 * time.Hour

// Verdict is what a clock makes of a certificate.
type Verdict struct {
	Grade Grade
	Ends  time.Time
	Text  string // such as "ended 2h0m0s ago, on 2026-01-02 15:04 UTC": what follows the certificate's name in a sentence
}

// Judge judges a chain: a certificate and those that may lead from it to a CA, in any order. It is worth no more than what has signed
// it, as far as that is there; of several that have, the one that lasts longest counts.
func Judge(chain []*x509.Certificate, now time.Time) Verdict {
	return At(chain[0].NotBefore, end(chain), now)
}

// JudgeAny judges certificates of a CA side by side: as long as one of them lasts, somebody can be verified.
func JudgeAny(all []*x509.Certificate, now time.Time) Verdict {
	last := slices.MaxFunc(all, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	return Judge([]*x509.Certificate{last}, now)
}

func end(chain []*x509.Certificate) time.Time {
	c, others := chain[0], chain[1:min(len(chain), 8)] // longer chains are none
	var signed time.Time
	for i, by := range others {
		if !bytes.Equal(c.RawSubject, c.RawIssuer) && bytes.Equal(by.RawSubject, c.RawIssuer) && c.CheckSignatureFrom(by) == nil {
			if ends := end(slices.Concat([]*x509.Certificate{by}, others[:i], others[i+1:])); ends.After(signed) {
				signed = ends
			}
		}
	}
	if signed.IsZero() || c.NotAfter.Before(signed) {
		return c.NotAfter
	}
	return signed
}

// At judges a time in which something is valid.
func At(from, until, now time.Time) Verdict {
	v, left := Verdict{Ends: until}, until.Sub(now)
	on := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
	switch {
	case now.Before(from):
		v.Grade, v.Text = Early, fmt.Sprintf("begins in %s, on %s: if that is in the past, this machine's clock is slow", rough(from.Sub(now)), on(from))
		return v
	case left < 0:
		v.Grade, v.Text = Ended, fmt.Sprintf("ended %s ago, on %s", rough(max(-left, time.Second)), on(until))
		return v
	case left <= day:
		v.Grade = Day
	case left <= 7*day:
		v.Grade = Week
	case left <= 30*day:
		v.Grade = Month
	}
	v.Text = fmt.Sprintf("ends in %s, on %s", rough(left), on(until))
	return v
}

// rough writes a duration as exactly as a person needs it.
func rough(d time.Duration) string {
	if d >= 2*day {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.Truncate(time.Second).String()
}

// Parse returns the certificates in the text of a PEM file, and what is wrong with the first one that is damaged.
func Parse(text []byte) (all []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
}
