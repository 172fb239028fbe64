package mtls

import (
	"maps"
	"time"
)

// Stats are counts since the endpoint was made.
type Stats struct {
	Peers     map[string]PeerStats
	Strangers map[Reason]uint64 // connections of nobody who is known
	Named     map[Reason]uint64 // connections that had the name of a peer and did not prove to be it; they are among the peer's too
	Gone      PeerStats         // of all guests that are gone, in sum
	Twins     uint64            // calls that were refused since another process with this node's name is connected there
}

// PeerStats are counts since the peer was added. A guest is added when it comes.
type PeerStats struct {
	Connected     bool      // what is sent to it leaves
	Heard         bool      // it is connected to this node
	Away          Reason    // why nothing could be sent to it when that was tried last; empty if it could. A guest has none
	AwaySince     time.Time // when that reason began
	Sent          uint64    // messages that left
	SentBytes     uint64    // of the packets that they were in
	Received      uint64    // messages that arrived, also those dropped
	ReceivedBytes uint64    // of the packets that they were in
	Full          uint64    // messages that Send refused with transport.ErrFull
	Outdated      uint64    // messages that waited too long and were dropped
	Dropped       uint64    // messages that arrived and found the inbox full
	Unread        uint64    // messages that arrived for a subject without a line
	Braked        uint64    // times that it sent more than its rate, and was made to wait
	Refused       map[Reason]uint64
	// CertificateEnds is until when its last connection is proven, or was; zero before the first one, and for a peer that is known by its key.
	CertificateEnds time.Time
}

// Stats returns the counts.
func (e *Endpoint) Stats() Stats {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := Stats{Peers: make(map[string]PeerStats, len(e.peers)), Strangers: maps.Clone(e.strangers.counts), Named: maps.Clone(e.strangers.named), Gone: e.guests.gone, Twins: e.twins.Load()}
	s.Gone.Refused = maps.Clone(s.Gone.Refused)
	for name, p := range e.peers {
		counts := p.snapshot()
		counts.CertificateEnds = p.proven
		if e.cfg.Roam {
			s := e.sessions[name]
			counts.Connected = s != nil && s.up
			counts.Heard = counts.Connected
		}
		s.Peers[name] = counts
	}
	return s
}
