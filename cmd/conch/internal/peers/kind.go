package peers

import (
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/transport/mtls"
)

// Kind is the part of a node that [identity] and [[peers]] are. It runs nothing: the services that use them do.
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Check:   check,
		Examine: examine,
		Open:    func(node.Frame) node.Service { return node.Plain{} },
	}
}

// check reports an identity that cannot be used, and keys that are none.
func check(c config.Config, fault func(key string, err error)) {
	if !used(c) {
		return
	}
	s := Of(c)
	_, err := mtls.LoadIdentity(s.Identity.Key, s.Identity.Certificate)
	fault("identity.key", err)
	if s.Identity.CA != "" {
		_, err := rootsOf(s.Identity.CA)
		fault("identity.ca", err)
	}
	for i, p := range s.Peers {
		if p.Key != "" {
			_, err := mtls.ParseFingerprint(p.Key)
			fault(fmt.Sprintf("peers[%d].key", i), err)
		}
	}
}
