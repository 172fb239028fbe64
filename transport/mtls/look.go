package mtls

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/conchhq/conch/internal/expiry"
)

// lookEvery is how often this node looks again at what it has verified: no certificate counts for much longer than it lasts.
const lookEvery = 20 * time.Second

// keepLooking looks at files and connections until ctx ends.
func (e *Endpoint) keepLooking(ctx context.Context) {
	failed := ""
	for {
		if await(ctx, e.every, nil); ctx.Err() != nil {
			return
		}
		failed = e.look(failed)
	}
}

// look reads keys and certificates whose files have changed, and ends the connections whose proof holds no more. It takes and returns
// why the files as they are cannot be used, which the log says once.
func (e *Endpoint) look(failed string) string {
	failed = e.readAgain(failed)
	now := e.now()
	e.mu.Lock()
	refused := e.prove(func(c *conn) bool { return !c.until.IsZero() && now.After(c.until) })
	e.mu.Unlock()
	for p, r := range refused {
		p.refused(r)
	}
	return failed
}

func (e *Endpoint) readAgain(failed string) string {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	e.mu.RLock()
	latest, read, fingerprint := e.latest, e.stamp, e.self.fingerprint
	e.mu.RUnlock()
	if latest.stamp() == read {
		return failed
	}
	own, err := LoadIdentity(latest.Key, latest.Certificate)
	switch {
	case err == nil && own.fingerprint != fingerprint:
		err = fmt.Errorf("%s has another key than the one that this node shows: put it back, or give the others the new one and reload or restart this node", latest.Key)
	case err == nil:
		err = e.reload(latest)
	}
	if err == nil {
		e.cfg.Log.Info("keys and certificates were read again, since their files have changed")
		return ""
	}
	if err.Error() != failed {
		e.cfg.Log.Warn("the changed keys and certificates are not used yet", slog.Any("error", err))
	}
	return err.Error()
}

// prove proves anew the connections that are due, and ends those of which that fails. It returns why, by peer. The endpoint's mutex is held.
func (e *Endpoint) prove(due func(*conn) bool) map[*peer]*RefusalError {
	refused := map[*peer]*RefusalError{}
	now := e.now()
	for _, c := range e.conns {
		if c.cut.Load() || !due(c) {
			continue
		}
		until, err := e.roster.is(c.peer.name, c.tls.ConnectionState().PeerCertificates, now)
		if err == nil && e.peers[c.peer.name] == c.peer {
			c.until, c.peer.proven = until, until
			continue
		}
		if err != nil {
			refused[c.peer] = refusalOf(err, c.peer.name, Expired)
		}
		c.cut.Store(true)
		shut(c.tls)
	}
	return refused
}

// explain says of a connection that another node has refused, or ended without a word, that this node's own certificate is no good, if
// it is not: TLS has no word that says whose certificate is bad.
func (e *Endpoint) explain(r *RefusalError) *RefusalError {
	e.mu.RLock()
	file, chain := e.latest.Certificate, e.self.Certificates()
	e.mu.RUnlock()
	if file == "" || r.Err == nil || r.Reason != RefusedUs && r.Reason != Ended {
		return r
	}
	if v := expiry.Judge(chain, e.now()); v.Grade >= expiry.Ended {
		return refuse(r.Peer, RefusedUs, "this node's own certificate, in %s, %s, and all that know it by its CA refuse it: renew it here (%w)", file, v.Text, r.Err)
	}
	return r
}
