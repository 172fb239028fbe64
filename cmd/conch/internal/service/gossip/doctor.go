package gossip

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/transport/mtls"
)

const checkGossip = "gossip"

// lookupPatience bounds the question for the address of a name.
const lookupPatience = 5 * time.Second

// facts are what the doctor looks at.
type facts struct {
	section *Section
	key     error  // why the key cannot sign statements
	nowhere error  // why the advertised name has no address
	foreign string // who else is at the advertised address
	away    string // why this node, which runs, does not answer there
}

// examine looks at what this node would be in the overlay. The peers themselves have a check of their own.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	s := config.Of[*Section](c)
	if s == nil || !s.there {
		return nil
	}
	f := facts{section: s}
	id, err := mtls.LoadIdentity(s.peers.Identity.Key, s.peers.Identity.Certificate)
	if err == nil {
		f.key = keyFault(id)
	}
	looking, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	host, port, fault := net.SplitHostPort(s.Advertise)
	if fault == nil {
		_, f.nowhere = net.DefaultResolver.LookupHost(looking, host)
	}
	if err == nil && fault == nil && f.nowhere == nil && port != "0" {
		f.away, f.foreign = s.answers(ctx, id.Fingerprint())
	}
	found, running := judge(f), examineRunning(ctx, c, s.peers.Identity.Name)
	if len(running) > 0 && len(found) == 1 && found[0].Status == doctor.OK {
		found = nil
	}
	return doctor.About(checkGossip, append(found, running...)...)
}

// answers looks who is at the advertised address. That nobody is there says something only while this node runs, and so listens.
func (s *Section) answers(ctx context.Context, own mtls.Fingerprint) (away, foreign string) {
	at := func(address string) (away, foreign string) {
		return s.peers.Meet(ctx, peers.Peer{Name: s.peers.Identity.Name, URL: "https://" + address, Key: own.String()})
	}
	if away, foreign = at(s.Advertise); away == "" || s.Advertise == s.peers.Identity.Listen {
		return "", foreign
	}
	if silent, other := at(s.peers.Identity.Listen); silent != "" || other != "" {
		return "", ""
	}
	return away, ""
}

func judge(f facts) (found []doctor.Finding) {
	s := f.section
	if f.key != nil {
		found = append(found, doctor.Failure(f.key.Error(), "conch identity new makes such a key: name its file in identity.key, and have the others write its fingerprint down"))
	}
	if f.nowhere != nil {
		found = append(found, doctor.Warning(fmt.Sprintf("the address %q, which this node gives to the others, cannot be found: %v", s.Advertise, f.nowhere), "write one in gossip.advertise that the others can reach"))
	}
	if f.foreign != "" {
		found = append(found, doctor.Failure(fmt.Sprintf("at %s, the address that this node gives to the others, is somebody else: %s", s.Advertise, f.foreign), "correct gossip.advertise, or what leads to that address"))
	}
	if f.away != "" {
		found = append(found, doctor.Warning(fmt.Sprintf("this node runs, and does not answer at %s, the address that it gives to the others: %s", s.Advertise, f.away),
			"correct gossip.advertise, and open that port; if only this machine cannot reach itself there, all is well"))
	}
	switch contacts, n := s.contacts(), len(s.Electors); {
	case n > 2 && n%2 == 0:
		found = append(found, doctor.Warning(fmt.Sprintf("there are %d electors: as many may be away as of %d", n, n-1), "add one in gossip.electors of all nodes, or take one out"))
	case n == 2:
		found = append(found, doctor.Warning("there are two electors: when one of them is away, nobody leads", "name one, or three and more, in gossip.electors of all nodes"))
	case len(contacts) == 0:
		found = append(found, doctor.Warning("this node has no contact, so it is alone until another one connects", "name one or more in gossip.contacts, unless the others have this one as a contact"))
	}
	if len(found) == 0 {
		who := "everybody may lead"
		if n := len(s.Electors); n > 0 {
			who = doctor.Count(n, "elector", "electors")
		}
		return []doctor.Finding{doctor.Well(fmt.Sprintf("%s, %s, policy %s; what is suggested is a hint", doctor.Count(len(s.contacts()), "contact", "contacts"), who, s.Policy))}
	}
	return found
}
