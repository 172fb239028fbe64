package peers

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/certificate"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/internal/expiry"
	"github.com/conchhq/conch/transport/mtls"
)

const (
	keyOfKey         = "identity.key"
	keyOfCertificate = "identity.certificate"
)

// Kind is the part of a node that [identity] and [[peers]] are. It runs nothing: the services that use them do.
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Check:   check,
		Examine: examine,
		Papers:  papers,
		Open:    func(node.Frame) node.Service { return node.Plain{} },
	}
}

// check reports an identity that cannot be used, and keys that are none.
func check(c config.Config, fault func(key string, err error)) {
	if !used(c) {
		return
	}
	s := Of(c)
	own, key, err := s.Identity.load()
	fault(key, err)
	owners := map[string]string{own.Fingerprint().String(): "this node itself"}
	caFile(s.Identity.CA, "identity.ca", fault)
	for i, p := range s.Peers {
		if p.Key != "" {
			_, err := mtls.ParseFingerprint(p.Key)
			if owner := owners[p.Key]; err == nil && owner != "" {
				err = fmt.Errorf("is the key of %s already, and each node has one of its own: write what conch identity show prints on %s", owner, p.Name)
			}
			owners[p.Key] = "peer " + p.Name
			fault(fmt.Sprintf("peers[%d].key", i), err)
		}
		caFile(p.CA, fmt.Sprintf("peers[%d].ca", i), fault)
	}
}

// caFile reports a CA's file that a node would not start with.
func caFile(file, key string, fault func(key string, err error)) {
	if file != "" {
		_, err := mtls.Roots(file)
		fault(key, err)
	}
}

// papers are this node's own certificate, and those of the CAs by which it knows others.
func papers(c config.Config, now time.Time) (all []certificate.Paper) {
	if !used(c) {
		return nil
	}
	s := Of(c)
	if i := s.Identity; i.Certificate != "" {
		all = certificate.Chain(all, certificate.Paper{
			Name: "identity", Key: keyOfCertificate, What: "the certificate of this node, " + i.Name + ", in " + i.Certificate,
			Remedy: "have the CA sign the key again and put the new certificate there: it is read by itself. Nodes that know this one by the CA refuse it after the end",
		}, certificate.Read(i.Certificate, i.CA), now)
	}
	all = certificate.Authority(all, "identity.ca", "identity.ca", s.Identity.CA, now)
	for i, p := range s.Peers {
		all = certificate.Authority(all, "peer:"+p.Name+".ca", fmt.Sprintf("peers[%d].ca", i), p.CA, now)
	}
	return all
}

// Shown returns the certificates that peers have shown which are known by a CA.
func Shown(e *mtls.Endpoint, now time.Time) (all []certificate.Paper) {
	for name, p := range e.Stats().Peers {
		if ends := p.CertificateEnds; !ends.IsZero() {
			all = append(all, shown(name, expiry.At(time.Time{}, ends, now)))
		}
	}
	return all
}

func shown(name string, v expiry.Verdict) certificate.Paper {
	return certificate.Paper{Verdict: v, Name: "peer:" + name, What: "the certificate of peer " + name, Remedy: "have it renewed there, at that node: nothing here is to be changed"}
}

// load reads what this node shows to others. If it cannot, key is the one of the configuration that is at fault.
func (i Identity) load() (own mtls.Identity, key string, err error) {
	own, err = mtls.LoadIdentity(i.Key, "")
	if err != nil || i.Certificate == "" {
		return own, keyOfKey, err
	}
	own, err = mtls.LoadIdentity(i.Key, i.Certificate)
	return own, keyOfCertificate, err
}
