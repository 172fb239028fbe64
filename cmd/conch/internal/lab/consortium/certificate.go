//go:build unix

package consortium

import (
	"context"
	"path/filepath"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/authority"
	"github.com/conchhq/conch/transport/mtls"
)

const (
	certificateLasts = 5 * time.Second
	endedFor         = 30 * time.Second // from then until it is renewed: the others notice within 20
)

// certify makes a certificate for an organisation's key, if the organisations know each other by a CA.
func (s *site) certify(o *organisation, lasts time.Duration) error {
	if s.papers == nil {
		return nil
	}
	id, err := mtls.LoadIdentity(filepath.Join(o.dir, "identity.pem"), "")
	if err != nil {
		return err
	}
	o.ca = s.papers.File
	return s.papers.Certify(o.Name, id, filepath.Join(o.dir, "certificate.pem"), lasts)
}

// expire has a node show a certificate that is about to end. It connects with it, and is cut off while its connections last.
func (s *supervisor) expire(ctx context.Context, o *organisation, now time.Time) error {
	if err := s.fell(ctx, o); err != nil {
		return err
	}
	if err := s.certify(o, certificateLasts); err != nil {
		return err
	}
	s.expired, s.renewAt, s.refusedBefore = o, now.Add(certificateLasts+endedFor), s.refusals.Load()
	s.screen.Note("%s was killed, and started with a certificate that ends in %s", o.Name, certificateLasts)
	return s.start(o)
}

// renew gives that node a certificate that lasts, in the same file. It counts only if somebody has refused the old one.
func (s *supervisor) renew() error {
	o := s.expired
	s.expired = nil
	if s.refusals.Load() == s.refusedBefore {
		s.counted[string(Certificate)]--
	}
	s.screen.Note("%s has a certificate again", o.Name)
	return s.certify(o, authority.Lasting)
}
