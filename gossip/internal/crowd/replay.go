package crowd

import (
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// replay has a node keep what the leader says, and bring it to the others again, once the leader is dead and something else has
// happened: that takes so long.
func replay(meanwhile func(r *run, dead *node) time.Duration) func(*run) {
	return func(r *run) {
		var kept []wire.Said
		r.at(begins/2, func() {
			l := r.leader()
			if !r.Check(l != nil, Agreement, "nobody leads in round %d", begins/2) {
				return
			}
			l.says = func(s wire.Said) {
				if s.Subject == l.subject && s.Topic == "" {
					kept = append(kept, s)
				}
			}
		})
		r.then(func(l *node) {
			l.says = nil
			r.crash(l)
			r.w.After(meanwhile(r, l), func() {
				works := r.leader()
				r.Check(works != l && len(kept) > 1, Agreement, "%s leads, or has said %d words", l.name, len(kept))
				r.tell(nil, "somebody brings %d old words of %s", len(kept), l.name)
				r.brings(l, kept)
				for i := range 60 {
					r.w.After(time.Duration(20+i)*round, func() {
						r.Check(r.leader() == works, NoNeedless, "old words of %s have deposed the leader", l.name)
						r.Check(r.counts[l.subject] == 0, Agreement, "%d of %d nodes believe in %s, which is dead", r.counts[l.subject], r.active, l.name)
					})
				}
			})
		})
	}
}

// forgotten has four of seven electors die, the leader among them, and lets pass what it takes until one that is no elector is
// forgotten, and a validity more. Nobody leads then.
func forgotten(r *run, dead *node) time.Duration {
	left := 3
	for _, n := range r.nodes {
		if n != dead && n.elector && left > 0 {
			r.crash(n)
			left--
		}
	}
	return 9 * 10 * r.valid() // the crowd has ten rounds between two beats
}

// oneByOne has all others start again, one after another, so that in the end nobody is left who has heard the dead one.
func oneByOne(r *run, dead *node) time.Duration {
	pause := 200 * round / time.Duration(len(r.nodes))
	for i, n := range r.nodes {
		if n != dead {
			r.w.After(40*round+time.Duration(i)*pause, func() { r.crash(n) })
			r.w.After(43*round+time.Duration(i)*pause, func() { r.restart(n) })
		}
	}
	return 280 * round
}

// atOnce has all others die at one time, and start again.
func atOnce(r *run, dead *node) time.Duration {
	for _, n := range r.nodes {
		if n != dead {
			r.w.After(40*round, func() { r.crash(n) })
			r.w.After(43*round, func() { r.restart(n) })
		}
	}
	return 120 * round
}

// brings has each node hear old words again from one of its peers, one every fifth round and each as if it were new.
func (r *run) brings(of *node, words []wire.Said) {
	if len(words) == 0 {
		return
	}
	word := words[0]
	word.Age = 0
	for _, to := range r.nodes {
		for _, e := range to.ends {
			if e.to.up && !e.to.elector {
				r.says(e.to, to.name, word)
				break
			}
		}
	}
	r.w.After(5*round, func() { r.brings(of, words[1:]) })
}
