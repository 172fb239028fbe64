package peers

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// patience bounds the answer of a peer.
const patience = 5 * time.Second

// partner has the facts about a peer.
type partner struct {
	name    string
	away    string // why it does not answer; empty: it does
	foreign string // why what it shows is not its key; empty: it is
	ended   bool   // that is its certificate's time alone
	until   time.Time
}

// Meet connects to who is at an address, as far as he shows his key. Away is why nobody answers, and foreign why what was shown
// is not the peer's; both are empty if it is.
func (d Directory) Meet(ctx context.Context, p Peer) (away, foreign string) {
	met := d.meet(ctx, p)
	return met.away, met.foreign
}

// meet connects to a peer, as far as it shows its key. It does not show who asks: a second connection in this node's name
// would end that of the node that runs.
func (d Directory) meet(ctx context.Context, p Peer) (out partner) {
	out.name = p.Name
	u, err := url.Parse(p.URL)
	if err != nil {
		out.away = err.Error()
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	shown := func(state tls.ConnectionState) (err error) {
		if out.until, out.ended, err = d.proves(p, state.PeerCertificates); err != nil {
			out.foreign = err.Error()
		}
		return err
	}
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, VerifyConnection: shown,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies: a fingerprint has no CA
	}}
	switch line, err := dialer.DialContext(ctx, "tcp", u.Host); {
	case err == nil:
		_ = line.Close()
	case out.foreign == "":
		out.away = err.Error()
	}
	return out
}

// proves returns until when certificates prove who a peer is, or why they do not, and whether that is their time alone.
func (d Directory) proves(p Peer, shown []*x509.Certificate) (until time.Time, ended bool, err error) {
	if len(shown) == 0 {
		return until, false, errors.New("it shows no certificate")
	}
	if got := mtls.Fingerprint(sha256.Sum256(shown[0].RawSubjectPublicKeyInfo)); p.Key != "" && got.String() != p.Key {
		return until, false, fmt.Errorf("the key at %s is %v, and not the one that is written down", p.URL, got)
	}
	until, err = mtls.Config{CA: d.Identity.CA}.Proves(mtls.Peer{Name: p.Name, Key: p.Key, CA: p.CA}, shown, time.Now())
	if refused, is := errors.AsType[*mtls.RefusalError](err); is {
		return until, refused.Reason == mtls.Expired, refused.Err
	}
	return until, false, err
}
