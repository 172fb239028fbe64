package pending

import "github.com/conchhq/conch/fence"

// pace is when the machine may act again after it was held up, and how much it asks for at once.
//
// A failed write, or a send without an answer, stops everything for Retry. A failed read stops only reads. A node that
// takes nothing now stops signing and sending until the next block, or for Patience if none comes.
type pace struct {
	retry    fence.Instant // no action before this instant; 0 if there is no limit
	reread   fence.Instant // the same for actions that only read the chain, since one has failed
	later    fence.Instant // when something that was put off in this Step is due; 0 if nothing was
	paused   uint64        // sign and send nothing until the head has this height, or until resume
	resume   fence.Instant // see paused
	mostRead int           // how much a probe or a confirm reads at once: less after one that failed
}

// remindAt asks for a tick at an instant: something is put off until then.
func (p *pace) remindAt(at fence.Instant) { p.later = sooner(p.later, at) }

// isPaused reports whether nothing is signed or sent yet.
func (p *pace) isPaused(height uint64, now fence.Instant) bool {
	return height < p.paused && now < p.resume
}

// isHeld reports whether a failure stops everything.
func (p *pace) isHeld(now fence.Instant) bool {
	if p.retry != 0 && now < p.retry {
		return true
	}
	p.retry = 0
	return false
}

// beginStep forgets what is over. Otherwise Next would return the same past instant again and again.
func (p *pace) beginStep(now fence.Instant) {
	if p.later = 0; now >= p.resume {
		p.paused = 0
	}
}

// mayRead reports whether the failure of a read stops reads no longer.
func (p *pace) mayRead(now fence.Instant) bool {
	if now < p.reread {
		return false
	}
	p.reread = 0
	return true
}

// nextDue returns when something is due, given the height of the head; 0 means never. No failure stops everything.
func (p *pace) nextDue(height uint64) fence.Instant {
	if p.paused > height {
		return sooner(p.later, p.resume)
	}
	return p.later
}

// readWell takes that so much could be read at once: next time it may be twice as much.
func (p *pace) readWell(most int) { p.mostRead = min(2*p.mostRead, most) }

// readBadly takes that it could not.
func (p *pace) readBadly(read int) { p.mostRead = max(1, min(p.mostRead, read)/2) }

// sooner returns the earlier of two instants, where 0 means never.
func sooner(a, b fence.Instant) fence.Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// errand is a kind of action. One of a kind is under way at a time, so that attempts are sent in the order of their
// nonces.
type errand uint16

const (
	toLoad errand = 1 << iota // perhaps a load whose answer is no longer wanted
	toSign                    // an assign or a replace
	toSend
	toLook
	toSearch
	toLink
	toConfirm
	toSurvey
	toPage
	toSave
)

// underway is the set of errands that are under way: from the action until its answer.
type underway struct{ errands errand }

func (u *underway) beginErrand(e errand) { u.errands |= e }
func (u *underway) endErrand(e errand)   { u.errands &^= e }

// isUnderway reports whether one of the errands is under way.
func (u *underway) isUnderway(e errand) bool { return u.errands&e != 0 }
