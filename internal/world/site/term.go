package site

import "time"

// Term is the time for which a process has a scope of its own beside the leader's. It renews its lease while it reaches the database.
type Term struct {
	*Node

	Scope    string
	Epoch    int64
	Deadline time.Duration // by the node's clock, which what acts for it has too
	Acts     bool          // its act door is open

	tenant Tenant
	of     *scope
	life   int
	over   bool
	kept   bool // somebody looks at the deadline
}

// Tenant is what a wing does in a term.
type Tenant struct {
	Extended func() // the deadline is a later one
	Opened   func() // the act door is open
	Lost     func() // another one has the scope, and this one hears so: again and again until it ends its term
	Passed   func() // the deadline has passed, whatever has become of the process: what acts for it ends now
}

// scope is had by one process at a time.
type scope struct {
	name  string
	epoch int64
	term  *Term // of that epoch; nil: there was none
}

// Lease has each scope given to a process that is drawn, and to another one when that is silent.
func (s *Site) Lease(scopes []string, begins func(*Term) Tenant) {
	var all []*scope
	for _, name := range scopes {
		all = append(all, &scope{name: name})
	}
	s.W.Again(s.lease/3, func() time.Duration {
		for _, one := range all {
			s.give(one, begins)
		}
		return s.lease / 3
	})
}

// give looks whether a scope has somebody. A process that is killed, or whose session is cut, is known to be silent at once; one that is
// frozen when its lease is over.
func (s *Site) give(one *scope, begins func(*Term) Tenant) {
	if t := one.term; t != nil && t.Lasts() && t.Speaks() {
		return
	}
	if n := s.Draw(func(n *Node) bool { return !n.Stands() }); n != nil {
		one.epoch++
		one.term = &Term{Node: n, Scope: one.name, Epoch: one.epoch, of: one, life: n.Life}
		one.term.tenant = begins(one.term)
		one.term.begin()
	}
}

// Lasts reports whether the process lives and has not ended its term.
func (t *Term) Lasts() bool { return !t.over && t.Life == t.life }

// End ends the term by the will of its process.
func (t *Term) End() { t.over = true }

// IsNewest reports whether nobody has had the scope since, as the database knows.
func (t *Term) IsNewest() bool { return t.of.epoch == t.Epoch }

// begin begins the term: the act door opens when the deadline of the one before has passed, whichever clock one asks.
func (t *Term) begin() {
	lease := t.s.lease
	t.extend()
	t.After(t.Clock.For(lease+lease/1000), func() {
		t.Acts = true
		t.tenant.Opened()
	})
	t.After(lease/3, t.beat)
}

// beat renews the lease again and again, for as long as the scope is its own.
func (t *Term) beat() {
	switch {
	case !t.Lasts():
		return
	case !t.Reaches():
	case !t.IsNewest():
		t.tenant.Lost()
	default:
		t.extend()
	}
	t.After(t.s.lease/3, t.beat)
}

func (t *Term) extend() {
	if t.Deadline = t.Boot() + t.s.lease; !t.kept {
		t.kept = true
		t.keep()
	}
	t.tenant.Extended()
}

// keep looks at the deadline from outside the process, which may stand still or be gone.
func (t *Term) keep() {
	t.s.W.After(t.Until(t.Deadline), func() {
		if t.kept = t.Boot() < t.Deadline; t.kept {
			t.keep()
		} else {
			t.tenant.Passed()
		}
	})
}
