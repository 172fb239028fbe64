package contracts

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/transport/mtls"
)

// factPatience bounds the answer of a peer or a chain.
const factPatience = 5 * time.Second

// examine looks at the identity, the peers and the contracts. It signs and sends nothing, and shows no peer who it is: a
// second connection in this node's name would end that of the node that runs.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	s := config.Of[*Section](c)
	if s == nil {
		s = &Section{} // there is no configuration
	}
	ctx, cancel := context.WithTimeout(ctx, 2*factPatience)
	defer cancel()
	if len(s.contracts) == 0 {
		return judge(nil, nil, nil)
	}
	partners, agreements := make([]partner, len(s.peers)), make([]agreement, len(s.contracts))
	var asking sync.WaitGroup
	for i, p := range s.peers {
		asking.Go(func() { partners[i] = meet(ctx, p) })
	}
	for i, a := range s.contracts {
		asking.Go(func() { agreements[i] = consult(ctx, c, s.identity.Name, a) })
	}
	_, identity := mtls.LoadIdentity(s.identity.Key, s.identity.Certificate)
	asking.Wait()
	return judge(identity, partners, agreements)
}

// meet connects to a peer, as far as it shows its key.
func meet(ctx context.Context, p Peer) (out partner) {
	out.name = p.Name
	u, err := url.Parse(p.URL)
	if err != nil {
		out.away = err.Error()
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, factPatience)
	defer cancel()
	shown := func(s tls.ConnectionState) error {
		err := proves(p, s.PeerCertificates)
		if err != nil {
			out.foreign = err.Error()
		}
		return err
	}
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, VerifyConnection: shown,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies: a fingerprint has no CA
	}}
	line, err := dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		out.away = err.Error()
		return out
	}
	_ = line.Close()
	return out
}

// proves returns why certificates do not prove who a peer is.
func proves(p Peer, shown []*x509.Certificate) error {
	if len(shown) == 0 {
		return errors.New("it shows no certificate")
	}
	if p.Key != "" {
		if got := mtls.Fingerprint(sha256.Sum256(shown[0].RawSubjectPublicKeyInfo)); got.String() != p.Key {
			return fmt.Errorf("the key at %s is %v, and not the one that is written down", p.URL, got)
		}
		return nil
	}
	text, err := os.ReadFile(p.CA)
	if err != nil {
		return err
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	for _, c := range shown[1:] {
		between.AddCert(c)
	}
	_, err = shown[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: p.Name})
	return err
}

// consult reads a contract on its chain.
func consult(ctx context.Context, c config.Config, self string, a Agreed) (out agreement) {
	out.Agreed = a
	if err := accountFault(c, self, a); err != nil {
		out.account = err.Error()
	}
	account, _, err := node.Offered(c, a.Account)
	if err != nil {
		return out // without it nobody knows the chain
	}
	out.here = declaration(a, account.ID)
	endpoints, err := evm.Dial(account.Endpoints)
	if err != nil {
		out.away = err.Error()
		return out
	}
	defer endpoints.Close()
	ctx, cancel := context.WithTimeout(ctx, factPatience)
	defer cancel()
	out.read(ctx, endpoints)
	return out
}

// read fills in what the chain says.
func (a *agreement) read(ctx context.Context, at evm.Node) {
	told := func(err error) {
		if errors.Is(err, evm.ErrOther) {
			a.other = err.Error()
		} else {
			a.away = err.Error()
		}
	}
	there, err := evm.Read(ctx, at, a.Address)
	if err != nil {
		told(err)
		return
	}
	a.there = there
	reader, err := evm.Check(ctx, at, a.here)
	if err != nil {
		told(err)
		return
	}
	if a.head, a.final, err = reader.Head(ctx); err != nil {
		told(err)
	}
}
