package peers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/internal/expiry"
	"github.com/conchhq/conch/transport/mtls"
)

const (
	checkPeers = "peers"
	checkSelf  = "identity"
)

// atOnce is how many peers are met at one time.
const atOnce = 16

// examine looks at the identity and at the peers, if a service uses them.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	if !used(c) {
		return nil
	}
	s := Of(c)
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	partners := make([]partner, len(s.Peers))
	var asking sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i, p := range s.Peers {
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			partners[i] = s.meet(ctx, p)
		})
	}
	own, key, err := s.Identity.load()
	asking.Wait()
	self := judgeSelf(own, key, err, s.unproven(own))
	return append(doctor.About(checkSelf, self), doctor.About(checkPeers, judgePeers(partners)...)...)
}

// remedies are of an identity that cannot be loaded, by the key of the configuration that is at fault.
var remedies = map[string]string{
	keyOfKey:         "conch identity new makes a key; name its file in identity.key",
	keyOfCertificate: "name in identity.certificate the certificate of this key, or leave it out: then peers know this node by its key alone",
}

// unproven returns why this node's own certificate does not prove its name to those who know it by a CA alone; nil if it has none
// of a CA.
func (d Directory) unproven(own mtls.Identity) error {
	chain := own.Certificates()
	if d.Identity.Certificate == "" || d.Identity.CA == "" || len(chain) == 0 {
		return nil
	}
	_, ended, err := d.proves(Peer{Name: d.Identity.Name}, chain)
	if ended {
		return nil // the check of certificates says so
	}
	return err
}

// judgeSelf has this node's identity. Whether the peers know its key it cannot say, since it does not show it: so it is named, to be
// compared with what they have.
func judgeSelf(own mtls.Identity, key string, fault, unproven error) doctor.Finding {
	switch {
	case fault != nil:
		return doctor.Failure(fault.Error(), remedies[key])
	case unproven != nil:
		return doctor.Warning(fmt.Sprintf("those that know this node by its CA alone refuse it: %v", unproven),
			"have that CA sign a new certificate whose one DNS name is identity.name, and name it in identity.certificate")
	}
	return doctor.Well(fmt.Sprintf("this node can prove who it is, with the key %v", own.Fingerprint()))
}

func judgePeers(partners []partner) (found []doctor.Finding) {
	for _, p := range partners {
		switch ends := shown(p.name, expiry.At(time.Time{}, p.until, time.Now())); {
		case p.ended:
			found = append(found, doctor.Failure(fmt.Sprintf("peer %q: %s", p.name, p.foreign), ends.Remedy))
		case !p.until.IsZero() && ends.Grade >= expiry.Week:
			found = append(found, ends.Finding())
		case p.foreign != "":
			found = append(found, doctor.Failure(fmt.Sprintf("peer %q: %s", p.name, p.foreign), "ask the peer, by a way that you trust, what conch identity show prints there, and correct key or url"))
		case p.away != "":
			found = append(found, doctor.Warning(fmt.Sprintf("peer %q does not answer: %s", p.name, p.away),
				"check its url, and that its node runs (the node of an organisation listens only while it leads); what needs this peer waits until then"))
		}
	}
	if len(found) == 0 {
		return []doctor.Finding{doctor.Well(fmt.Sprintf("%s with the right key", doctor.Count(len(partners), "peer answers", "peers answer")))}
	}
	return found
}
