package pending

import (
	"cmp"

	"github.com/conchhq/conch/chain"
)

// On some chains signed attempts wear out: after a while no block takes them (Signed.Until), nor one that another version of the
// chain's runtime makes (Signed.Version), and a node may ban them. That ends nothing, and proves nothing: on another branch, or
// sent late by a process that was frozen, the same bytes may still get into a block. So:
//
//   - An attempt that is outworn is signed anew in the same slot. Of a slot's attempts a block has one at most, so this needs no
//     proof, and no count; the old ones are looked for as before. Its intent never gets another nonce for it: both could land.
//   - That happens at most once for each version and half an era, since a node that is behind says so of what is good elsewhere.
//   - For another version it waits until the block that has brought it is final, or deep: a fork would have all slots signed anew
//     with each reorganisation.
//   - What a node says alone is believed after some blocks, as ever.
//
// What is known of an attempt is in what was stored with it. What is known of the chain's version is in the tip.

// version is one of the chain's runtime, on the branch of the head.
type version struct {
	from uint64 // the height of the first block that was seen with it
	name string
}

const (
	deepVersion  = 16 // blocks on top of the one that has brought a version, after which it counts as staying
	mostVersions = 16 // that are remembered
	usualHalf    = 32 // blocks: half an era, if the chain has none and a node bans what is not outworn
)

// takeVersion takes the version of the runtime after an applied block.
func (t *tip) takeVersion(turn chain.Turn, name string) {
	n := len(t.versions)
	switch {
	case turn.Kind == chain.Reverted && n > 0 && t.versions[n-1].from >= turn.Block.Number:
		t.versions = t.versions[:n-1]
	case turn.Kind == chain.Applied && name != "" && (n == 0 || t.versions[n-1].name != name):
		if n == mostVersions {
			t.versions = append(t.versions[:0], t.versions[1:]...)
		}
		t.versions = append(t.versions, version{turn.Block.Number, name})
	}
}

// versionNow returns the version that decides what the next block takes, empty if it is not known, and whether it stays.
func (t *tip) versionNow() (name string, stays bool) {
	if len(t.versions) == 0 {
		return "", false
	}
	v := t.versions[len(t.versions)-1]
	return v.name, t.final.Hash != "" && t.final.Number >= v.from || t.head.Number >= v.from+deepVersion
}

// wear is what the machine knows of a slot's attempts as they wear out.
type wear struct {
	outworn  bool   // as of the last census: no block on the head takes the last attempt
	signedAt uint64 // the height at which that was signed; 0: by an earlier term
	saidAt   uint64 // the height at which a node first called it outworn; 0: none did
	saidOf   string // the version then
	renewing bool   // it is being signed anew
	renewed  struct {
		at      uint64 // the height at which it was last signed anew
		version string // and the version then
	}
}

// restoreRenewal finds out from the last attempt when an earlier term has signed it anew: a part of the era after its birth.
func (s *slot) restoreRenewal(era uint64) {
	attempt, _ := s.lastAttempt()
	if birth := attempt.Until + 1; len(s.Attempts) > 1 && era > 0 && birth > era {
		s.renewed.at, s.renewed.version = birth-era, attempt.Version
	}
}

// noteSigned notes that there is another last attempt.
func (w *wear) noteSigned(t *tip) {
	if w.renewing {
		w.renewed.at = max(t.head.Number, 1)
		w.renewed.version, _ = t.versionNow()
	}
	w.outworn, w.renewing, w.saidAt, w.signedAt = false, false, 0, t.head.Number
}

// noteUnrenewed notes that the last attempt could not be signed anew, since the same bytes came out.
func (w *wear) noteUnrenewed(t *tip) {
	if was := *w; w.renewing {
		w.noteSigned(t)
		w.outworn, w.saidAt, w.signedAt = was.outworn, was.saidAt, was.signedAt
	}
}

// isPast reports whether the time of an attempt is over at the head.
func (a *account) isPast(attempt *chain.Signed) bool {
	return attempt.Until != 0 && a.head.Hash != "" && a.head.Number >= attempt.Until
}

// isOutworn reports whether no block on the head takes an attempt of a slot, by what was stored with it. A driver may have signed
// for a version of which the machine has not heard.
func (a *account) isOutworn(s *slot, attempt *chain.Signed) bool {
	if a.set.Era == 0 {
		return false
	}
	name, _ := a.versionNow()
	return a.isPast(attempt) || name != "" && attempt.Version != name && a.head.Number >= s.signedAt+believedAfter
}

// takeOutworn takes the answer that an attempt is worthless at a node.
func (a *account) takeOutworn(s *slot, at *delivery, said chain.Outcome) {
	at.reached = worn
	if s.saidAt == 0 {
		s.saidAt = max(a.head.Number, 1)
		s.saidOf, _ = a.versionNow()
	}
	s.notTaken(said)
}

// weighWear finds out whether the last attempt of a slot is outworn. What a node has said while the chain had another version
// says nothing now.
func (a *account) weighWear(s *slot) {
	attempt, delivery := s.lastAttempt()
	s.outworn = a.isOutworn(s, attempt)
	if delivery.reached != worn {
		return
	}
	if name, _ := a.versionNow(); name != s.saidOf {
		delivery.reached, s.saidAt = gone, 0
	}
}

// wantsRenewal reports whether the last attempt of a slot is outworn, by what was stored with it or in the words of a node.
func (s *slot) wantsRenewal() bool {
	_, delivery := s.lastAttempt()
	return s.outworn || delivery.reached == worn
}

// mayRenew reports whether the last attempt of a slot is to be signed anew now, if it is outworn.
func (a *account) mayRenew(s *slot) bool {
	if a.head.Hash == "" {
		return false // before the first head nothing says how long ago that was
	}
	name, stays := a.versionNow()
	last := &s.renewed
	last.at, s.saidAt = min(last.at, a.head.Number), min(s.saidAt, a.head.Number) // after a rewind they may lie above the head
	half := cmp.Or(a.set.Era/2, usualHalf)
	if s.brief {
		half = briefHalf
	}
	if last.at > 0 && last.version == name && a.head.Number < last.at+half {
		return false
	}
	attempt, _ := s.lastAttempt()
	switch {
	case a.isPast(attempt):
		return true
	case name != "" && attempt.Version != name:
		return stays
	}
	return a.head.Number >= s.saidAt+believedAfter
}
