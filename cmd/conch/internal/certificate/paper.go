// Package certificate lists the certificates that a node shows or relies on, and says of each what a clock makes of it: to conch doctor,
// to conch config check, to the log and to the metrics of a node that runs, all by one judgement. It knows no service: each names its own.
package certificate

import (
	"crypto/x509"
	"os"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/internal/expiry"
	"github.com/conchhq/conch/internal/secretfile"
)

// Paper is a certificate that a node shows or relies on.
type Paper struct {
	expiry.Verdict

	Name   string // the label of the metric, such as identity
	Key    string // of the configuration, if a file of it has the certificate
	What   string // such as "the certificate of the API in FILE": the beginning of a sentence
	Remedy string
}

// Chain appends a certificate to a list, with those that may have signed it; nothing if there is none.
func Chain(all []Paper, p Paper, chain []*x509.Certificate, now time.Time) []Paper {
	if len(chain) == 0 {
		return all
	}
	p.Verdict = expiry.Judge(chain, now)
	return append(all, p)
}

// Authority appends the certificates of a CA by which this node knows others.
func Authority(all []Paper, name, key, file string, now time.Time) []Paper {
	if found := Read(file); len(found) > 0 {
		all = append(all, Paper{expiry.JudgeAny(found, now), name, key, "the CA in " + file, "have the CA renew its certificate, and put the new one into " + file})
	}
	return all
}

// Read returns the certificates in files. That one cannot be read is a fault that others name.
func Read(files ...string) (all []*x509.Certificate) {
	for _, file := range files {
		text, _ := os.ReadFile(file)
		some, _ := expiry.Parse(secretfile.Text(text))
		all = append(all, some...)
	}
	return all
}

// Finding says what is to be done about a paper.
func (p Paper) Finding() doctor.Finding {
	f := doctor.Well(p.What + " " + p.Text)
	switch {
	case p.Grade >= expiry.Ended:
		f = doctor.Failure(f.Detail, p.Remedy)
	case p.Grade >= expiry.Week:
		f = doctor.Warning(f.Detail, p.Remedy)
	}
	f.Check = "certificates"
	return f
}
