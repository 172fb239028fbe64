package peers

import (
	"context"
	"fmt"
	"sync"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
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
	own, err := mtls.LoadIdentity(s.Identity.Key, s.Identity.Certificate)
	asking.Wait()
	return judge(own, err, s.unproven(own), partners)
}

// unproven returns why this node's own certificate does not prove its name to those who know it by the CA alone; nil if there
// is no CA.
func (d Directory) unproven(own mtls.Identity) error {
	if d.Identity.CA == "" || d.Identity.Certificate == "" || len(own.Certificates()) == 0 {
		return nil
	}
	return d.proves(Peer{Name: d.Identity.Name}, own.Certificates())
}

// judge makes both checks. Whether the peers know this node's key it cannot say, since it does not show it: so it is named, to
// be compared with what they have.
func judge(own mtls.Identity, identity, unproven error, partners []partner) (all []doctor.Finding) {
	switch {
	case identity != nil:
		all = doctor.About(checkSelf, doctor.Failure(identity.Error(), "conch identity new makes a key; name its file in identity.key"))
	case unproven != nil:
		all = doctor.About(checkSelf, doctor.Warning(fmt.Sprintf("those that know this node by its CA alone refuse it: %v", unproven),
			"have the CA of identity.ca sign a certificate whose one DNS name is identity.name, and name it in identity.certificate"))
	default:
		all = doctor.About(checkSelf, doctor.Well(fmt.Sprintf("this node can prove who it is, with the key %v", own.Fingerprint())))
	}
	return append(all, doctor.About(checkPeers, judgePeers(partners)...)...)
}

func judgePeers(partners []partner) (found []doctor.Finding) {
	for _, p := range partners {
		switch {
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
