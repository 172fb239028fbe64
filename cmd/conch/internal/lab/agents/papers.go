//go:build unix

package agents

import (
	"path/filepath"

	"github.com/conchhq/conch/cmd/conch/internal/lab/authority"
	"github.com/conchhq/conch/transport/mtls"
)

// paper is a node's key and its certificate, in files.
type paper struct {
	key, certificate string
	fingerprint      mtls.Fingerprint
}

// issue makes a key, and a certificate with one name.
func issue(a *authority.Authority, name string) (p paper, err error) {
	dir := filepath.Dir(a.File)
	p = paper{key: filepath.Join(dir, name+".key"), certificate: filepath.Join(dir, name+".pem")}
	identity, err := mtls.CreateIdentity(p.key)
	if err != nil {
		return p, err
	}
	p.fingerprint = identity.Fingerprint()
	return p, a.Certify(name, identity, p.certificate, authority.Lasting)
}
