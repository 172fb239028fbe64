package mtls

import "time"

// guests are nodes that are no Config.Peers, and are known by the CA that has signed their certificates. What is known of
// one is dropped when its last connection is gone.
type guests struct {
	seldom *seldom
	gone   PeerStats       // sums of those that are gone
	debts  map[string]rate // what some of them have sent over their rate, until it is paid with time
}

func newGuests() guests {
	return guests{seldom: newSeldom(), gone: PeerStats{Refused: map[Reason]uint64{}}, debts: map[string]rate{}}
}

// receiveGuest adds a guest that has called, if there is room. Those that this node has called are no matter: it may call more.
func (e *Endpoint) receiveGuest(name string) (*peer, error) {
	count := 0
	for _, p := range e.peers {
		if p.caller {
			count++
		}
	}
	if count >= e.latest.Guests {
		return nil, refuse(name, Crowded, "%d guests are connected, and %d are allowed", count, e.latest.Guests)
	}
	p := e.addGuest(name)
	p.caller = true
	return p, nil
}

func (e *Endpoint) addGuest(name string) *peer {
	p := newPeer(name, "", e.latest)
	p.guest, p.seldom = true, e.guests.seldom
	e.payDebts()
	if debt, owes := e.guests.debts[name]; owes {
		p.rate = debt
	}
	e.peers[name] = p
	return p
}

// hold keeps what is known of a peer while it is served.
func (e *Endpoint) hold(p *peer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p.uses++
}

func (e *Endpoint) letGo(p *peer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.release(p)
}

// release notes that a connection, a stream or a call of a peer is over. The endpoint's mutex is held.
func (e *Endpoint) release(p *peer) {
	p.uses--
	if p.uses > 0 || !p.guest || e.peers[p.name] != p {
		return
	}
	delete(e.peers, p.name)
	e.guests.gone.add(p.snapshot())
	e.payDebts()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate.used > 0 {
		e.guests.debts[p.name] = p.rate
	}
}

// payDebts drops those that time has paid.
func (e *Endpoint) payDebts() {
	now := time.Now()
	for name, debt := range e.guests.debts {
		if debt.spend(0, now); debt.used == 0 {
			delete(e.guests.debts, name)
		}
	}
}

// add adds the counts of another peer.
func (s *PeerStats) add(other PeerStats) {
	s.Sent += other.Sent
	s.SentBytes += other.SentBytes
	s.Received += other.Received
	s.ReceivedBytes += other.ReceivedBytes
	s.Full += other.Full
	s.Outdated += other.Outdated
	s.Dropped += other.Dropped
	s.Unread += other.Unread
	s.Braked += other.Braked
	for reason, count := range other.Refused {
		s.Refused[reason] += count
	}
}
