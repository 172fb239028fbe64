//go:build unix

package consortium

import (
	"context"
	"path/filepath"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/authority"
)

const (
	certificateLasts = 20 * time.Second // its node connects with it, and works
	// judgedAfter its end all connections that it has proven are over: peers look every 20 s, and a node says each minute what has ended.
	judgedAfter = 65 * time.Second
	atTheDoor   = 30 * time.Second // a connection that is younger may be one that is refused, or of a node whose clock is wrong
	backWithin  = time.Minute      // from its renewal: the file is read within 20 s
	steady      = 5 * time.Second  // what has stood for so long is no refusal
)

// ending is a certificate that ends while its node works, and is renewed.
type ending struct {
	of      *organisation
	ends    time.Time
	renewed time.Time       // zero: not yet
	refused int64           // how often certificates had been refused before it
	back    map[string]bool // the ways that have stood since it was renewed
}

// certify makes a certificate for an organisation's key, if the organisations know each other by a CA.
func (s *site) certify(o *organisation, lasts time.Duration) error {
	if s.papers == nil {
		return nil
	}
	o.ca = s.papers.File
	return s.papers.Certify(o.Name, o.identity, filepath.Join(o.dir, "certificate.pem"), lasts)
}

// expire starts a node with a certificate that ends soon: whatever connects it until then is proven by that one.
func (s *supervisor) expire(ctx context.Context, o *organisation, now time.Time) error {
	if err := s.fell(ctx, o); err != nil {
		return err
	}
	if err := s.certify(o, certificateLasts); err != nil {
		return err
	}
	o.ownEnd.Store(false)
	s.expired = &ending{of: o, ends: now.Add(certificateLasts), refused: s.refusals.Load(), back: map[string]bool{}}
	s.screen.Note("%s was killed, and started with a certificate that ends in %s", o.Name, certificateLasts)
	return s.start(o)
}

// lapse judges a certificate long after its end, renews it in the same file, and notes when its node is connected again.
func (s *supervisor) lapse(now time.Time) error {
	e := s.expired
	switch {
	case e == nil, e.renewed.IsZero() && now.Before(e.ends.Add(judgedAfter)):
		return nil
	case e.renewed.IsZero():
		s.endings = append(s.endings, auditor.Ended{
			Node: e.of.Name, Standing: s.links.Standing(e.of.Name, time.Time{}, now.Add(-atTheDoor)),
			Refused: s.refusals.Load() > e.refused, Said: e.of.ownEnd.Load(),
		})
		e.renewed = now
		s.screen.Note("%s has a certificate again", e.of.Name)
		return s.certify(e.of, authority.Lasting)
	}
	for _, way := range s.links.Standing(e.of.Name, e.renewed, now.Add(-steady)) {
		e.back[way] = true
	}
	all := 2 * (len(s.All) - 1)
	if len(e.back) < all && now.Before(e.renewed.Add(backWithin)) {
		return nil
	}
	s.endings[len(s.endings)-1].Away = all - len(e.back)
	s.screen.Note("%s is connected again, by %d of %d ways", e.of.Name, len(e.back), all)
	s.expired = nil
	return nil
}

// renew ends the fault early. Without a judgement it has shown nothing.
func (s *supervisor) renew() error {
	e := s.expired
	s.expired = nil
	if !e.renewed.IsZero() {
		return nil
	}
	s.counted[string(Certificate)]--
	return s.certify(e.of, authority.Lasting)
}
