package peers

import (
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
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
		Open:    func(node.Frame) node.Service { return node.Plain{} },
	}
}

// check reports an identity that cannot be used, and keys that are none.
func check(c config.Config, fault func(key string, err error)) {
	if !used(c) {
		return
	}
	s := Of(c)
	_, key, err := s.Identity.load()
	fault(key, err)
	if s.Identity.CA != "" {
		_, err := rootsOf(s.Identity.CA)
		fault("identity.ca", err)
	}
	for i, p := range s.Peers {
		if p.Key != "" {
			_, err := mtls.ParseFingerprint(p.Key)
			fault(fmt.Sprintf("peers[%d].key", i), err)
		}
		if p.CA != "" {
			_, err := rootsOf(p.CA)
			fault(fmt.Sprintf("peers[%d].ca", i), err)
		}
	}
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
