package crowd

import (
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/wire"
)

// replay has a node keep what the leader says, and bring it to an elector again once all others may have forgotten the dead one.
func replay(r *run) {
	var kept []wire.Said
	r.at(begins/2, func() {
		l := r.leader()
		if !r.check(l != nil, Agreement, "nobody leads in round %d", begins/2) {
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
		r.within(r.recovery(), "the leader is dead")
		r.w.After(forgets*r.valid(), func() {
			works := r.leader()
			if !r.check(works != nil && works != l && len(kept) > 1, Agreement, "nobody leads, or the dead leader has said %d words", len(kept)) {
				return
			}
			r.tell(nil, "somebody brings %d old words of %s", len(kept), l.name)
			r.brings(works, l, kept)
			r.w.After(80*round, func() {
				r.check(r.leader() == works && r.counts[l.subject] == 0, NoNeedless, "%s no longer leads, and %d of %d nodes believe in %s, which is dead", works.name, r.counts[l.subject], r.active, l.name)
			})
		})
	})
}

// forgets is how many validities later a candidate that is no elector is forgotten, and one more.
const forgets = 9

// brings has a liar say old words of a node again, one every fifth round and each as if it were new, to one that leads.
func (r *run) brings(to, of *node, words []wire.Said) {
	if len(words) == 0 {
		return
	}
	word := words[0]
	word.Age = 0
	for _, e := range to.ends {
		if e.to.up && e.to != of {
			r.send(e.to, gossip.Send{To: []string{to.name}, Parcel: wire.Parcel{Said: []wire.Said{word}}})
			break
		}
	}
	r.w.After(5*round, func() { r.brings(to, of, words[1:]) })
}
