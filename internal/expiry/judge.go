package expiry

import (
	"bytes"
	"crypto/x509"
	"fmt"
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
	Text  string // such as "ended 2 h ago, on 2026-01-02 15:04 UTC": what follows the certificate's name in a sentence
}

// Judge judges a chain: a certificate and those that lead from it to a CA, in any order. It is worth no more than what has signed
// it, as far as that is there; of several that have, the one that lasts longest counts.
func Judge(chain []*x509.Certificate, now time.Time) Verdict {
	from, until := span(chain[0], chain[1:])
	return At(from, until, now)
}

// JudgeAny judges certificates of a CA side by side: as long as one of them lasts, somebody can be verified.
func JudgeAny(all []*x509.Certificate, now time.Time) Verdict {
	best := Judge(all[:1], now)
	for i := range all {
		if v := Judge(all[i:i+1], now); v.Ends.After(best.Ends) {
			best = v
		}
	}
	return best
}

// span returns when a certificate and some chain of its issuers are valid.
func span(c *x509.Certificate, others []*x509.Certificate) (from, until time.Time) {
	if len(others) > 8 { // longer chains are none
		others = others[:8]
	}
	var first, last time.Time
	for i, o := range others {
		if bytes.Equal(c.RawSubject, c.RawIssuer) || !bytes.Equal(o.RawSubject, c.RawIssuer) || c.CheckSignatureFrom(o) != nil {
			continue
		}
		rest := append(append([]*x509.Certificate{}, others[:i]...), others[i+1:]...)
		if f, u := span(o, rest); u.After(last) {
			first, last = f, u
		}
	}
	from, until = c.NotBefore, c.NotAfter
	if first.After(from) {
		from = first
	}
	if !last.IsZero() && last.Before(until) {
		until = last
	}
	return from, until
}

// At judges a time in which something is valid.
func At(from, until, now time.Time) Verdict {
	v := Verdict{Ends: until}
	left := until.Sub(now)
	switch {
	case now.Before(from):
		v.Grade = Early
		v.Text = fmt.Sprintf("begins in %s, on %s: if that is in the past, this machine's clock is slow", rough(from.Sub(now)), stampOf(from))
		return v
	case left < 0:
		v.Grade = Ended
		v.Text = fmt.Sprintf("ended %s ago, on %s", rough(-left), stampOf(until))
		return v
	case left <= day:
		v.Grade = Day
	case left <= 7*day:
		v.Grade = Week
	case left <= 30*day:
		v.Grade = Month
	}
	v.Text = fmt.Sprintf("ends in %s, on %s", rough(left), stampOf(until))
	return v
}

func stampOf(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// rough writes a duration in its largest unit, which is all that a person needs.
func rough(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{day, "days"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= 2*unit.of {
			return fmt.Sprintf("%d %s", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
