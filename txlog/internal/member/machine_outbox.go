package member

import "github.com/conchhq/conch/txlog"

// outbox performs effects: after the commit, through the act door, one after the other, at least once.
type outbox struct {
	open       bool
	performing txlog.Key // zero: none
	done       txlog.Key // the last one that this node has performed, in any term
	reported   uint64    // the entry Performed that is in flight
}

func (o *outbox) reset() { o.performing, o.reported = txlog.Key{}, 0 }

// turn takes the state of the act door. What was being performed when it shut may not have been.
func (m *Machine) turn(open bool) {
	if !open {
		m.outbox.performing = txlog.Key{}
	}
	m.outbox.open = open
}

// next is the first effect that nobody is known to have performed.
func (m *Machine) next() (txlog.Pending, bool) {
	for _, p := range m.base.Effects() {
		if m.outbox.done.Before(p.Key) {
			return p, true
		}
	}
	return txlog.Pending{}, false
}

// perform begins with the next effect.
func (m *Machine) perform() {
	if !m.opened || !m.outbox.open || m.outbox.performing != (txlog.Key{}) {
		return
	}
	if p, is := m.next(); is {
		m.outbox.performing = p.Key
		m.do(Perform{Key: p.Key, Effect: p.Effect})
	}
}

// performed takes the word that an effect was performed, also if the door has shut since.
func (m *Machine) performed(key txlog.Key) {
	if p, is := m.next(); !is || p.Key != key {
		return
	}
	m.outbox.done, m.outbox.performing = key, txlog.Key{}
}

// unperformed takes the word that an effect is performed no more: its door has shut, which this machine may never have been told.
func (m *Machine) unperformed(key txlog.Key) {
	if m.outbox.performing == key {
		m.outbox.performing = txlog.Key{}
	}
}

// report has the log say what was performed. One such entry is in flight at a time.
func (m *Machine) report() {
	if !m.opened || m.outbox.reported > m.base.Position().Index {
		return
	}
	pending := m.ahead.copied.Effects()
	if len(pending) == 0 || m.outbox.done.Before(pending[0].Key) {
		return
	}
	if err := m.propose(txlog.Entry{Kind: txlog.Performed, Upto: m.outbox.done}); err == nil {
		m.outbox.reported = m.ahead.copied.Position().Index
	}
}
