package overlay

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/transport/mtls"
)

const checkGossip = "gossip"

// lookupPatience bounds the question for the address of a name.
const lookupPatience = 5 * time.Second

// facts are what the doctor looks at.
type facts struct {
	section *Section
	key     error // why the key cannot sign statements
	nowhere error // why the advertised name has no address
}

// examine looks at what this node would be in the overlay. The peers themselves have a check of their own.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	s := config.Of[*Section](c)
	if s == nil || !s.there {
		return nil
	}
	f := facts{section: s}
	if id, err := mtls.LoadIdentity(s.peers.Identity.Key, s.peers.Identity.Certificate); err == nil {
		_, f.key = schemeOf(id)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	if host, _, err := net.SplitHostPort(s.Advertise); err == nil {
		_, f.nowhere = net.DefaultResolver.LookupHost(ctx, host)
	}
	return doctor.About(checkGossip, judge(f)...)
}

func judge(f facts) (found []doctor.Finding) {
	s := f.section
	if f.key != nil {
		found = append(found, doctor.Failure(f.key.Error(), "conch identity new makes such a key: name its file in identity.key, and have the others write its fingerprint down"))
	}
	if f.nowhere != nil {
		found = append(found, doctor.Warning(fmt.Sprintf("the address %q, which this node gives to the others, cannot be found: %v", s.Advertise, f.nowhere), "write one in gossip.advertise that the others can reach"))
	}
	switch contacts := s.contacts(); {
	case len(s.Electors) == 2:
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
