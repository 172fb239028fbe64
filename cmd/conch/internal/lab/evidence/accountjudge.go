package evidence

import (
	"fmt"
	"slices"
)

// JudgeAccount judges an account without changing it.
func JudgeAccount(a Account) Chain {
	j := accountJudge{Account: a, own: map[string][]Mined{}, byID: map[string]Intent{}}
	for _, m := range a.Mined {
		if !slices.Contains(a.Foreign, m.Hash) {
			j.own[m.Deed] = append(j.own[m.Deed], m)
		}
	}
	for _, in := range a.Intents {
		j.byID[in.ID] = in
	}
	for _, w := range a.Requests {
		j.effects(w)
		j.acknowledged(w)
	}
	j.nonces()
	j.unknown()
	for _, in := range a.Intents {
		j.end(in)
	}
	return j.verdict
}

type accountJudge struct {
	Account
	own     map[string][]Mined // by deed, without the transactions of others
	byID    map[string]Intent
	verdict Chain
}

func (j *accountJudge) fault(format string, args ...any) {
	j.verdict.Faults = append(j.verdict.Faults, fmt.Sprintf(format, args...))
}

// finally reports whether a deed is in a final block, with effect.
func (j *accountJudge) finally(deed string) bool {
	return slices.ContainsFunc(j.own[deed], func(m Mined) bool { return !m.Failed && m.Block <= j.Final })
}

// effects counts how often the chain did what a customer asked for. A request that was not
// acknowledged may have been done once or never.
func (j *accountJudge) effects(w Request) {
	times := slices.DeleteFunc(slices.Clone(j.own[w.Deed]), func(m Mined) bool { return m.Failed })
	if len(times) > 1 {
		j.verdict.Twice++
		j.fault("%s was done %d times, by %s and %s", w.Key, len(times), times[0].Hash, times[1].Hash)
	}
	if len(w.IDs) == 0 {
		return
	}
	j.verdict.Intents++
	switch {
	case j.finally(w.Deed):
		j.verdict.Done++
	case !w.Revocable || !j.givenUp(w):
		j.verdict.Missing++
		j.fault("%s was acknowledged and is not done in any final block", w.Key)
	}
}

// givenUp reports whether the database has given up a request under each of its IDs.
func (j *accountJudge) givenUp(w Request) bool {
	return !slices.ContainsFunc(w.IDs, func(id string) bool {
		fate := j.byID[id].Fate
		return fate != cancelled && fate != rejected
	})
}

// acknowledged checks that each acknowledgement was kept.
func (j *accountJudge) acknowledged(w Request) {
	for _, id := range w.IDs {
		if in, known := j.byID[id]; !known {
			j.fault("%s was acknowledged as %s, which the database does not know", w.Key, id)
		} else if in.Deed != w.Deed {
			j.fault("%s was acknowledged as %s, which is something else: %s", w.Key, id, in.Deed)
		}
	}
	if len(w.IDs) > 1 {
		j.fault("%s was acknowledged as %v", w.Key, w.IDs)
	}
}

// nonces looks for assigned or skipped nonces that are not used, and for nonces used again.
func (j *accountJudge) nonces() {
	gap := func(format string, args ...any) {
		j.verdict.NonceGaps++
		j.fault(format, args...)
	}
	used := map[uint64]bool{}
	var end uint64
	for _, m := range j.Mined {
		if m.Nonce < end {
			gap("nonce %d is in the chain after nonce %d, by %s", m.Nonce, end-1, m.Hash)
		}
		used[m.Nonce] = true
		end = max(end, m.Nonce+1)
	}
	if j.Count != uint64(len(j.Mined)) {
		gap("the chain counts %d transactions and shows %d", j.Count, len(j.Mined))
	}
	for _, n := range j.Nonces {
		end = max(end, n+1)
	}
	for n := range end {
		if !used[n] {
			gap("nonce %d of %d is not in the chain", n, end)
		}
	}
}

// unknown looks for transactions that were not stored before they were sent, that nobody
// asked for, or that had no effect.
func (j *accountJudge) unknown() {
	stored, asked := map[string]bool{}, map[string]bool{Nothing: true}
	for _, h := range slices.Concat(j.Hashes, j.Foreign) {
		stored[h] = true
	}
	for _, w := range j.Requests {
		asked[w.Deed] = true
	}
	for _, m := range j.Mined {
		switch {
		case !stored[m.Hash]:
			j.fault("%s is in the chain and not in the database", m.Hash)
		case !asked[m.Deed] && !slices.Contains(j.Foreign, m.Hash):
			j.fault("%s is in the chain and nobody asked for it: %s", m.Hash, m.Deed)
		}
		if m.Failed {
			j.fault("%s is in the chain and had no effect", m.Hash)
		}
	}
}

// end checks that an intent has ended, and that the chain agrees.
func (j *accountJudge) end(in Intent) {
	switch in.Fate {
	case done:
		if !j.finally(in.Deed) {
			j.fault("%s is done, and not in any final block", in.ID)
		}
	case cancelled, rejected:
		if times := len(j.own[in.Deed]); times > 0 {
			j.fault("%s is %s, and %d times in the chain", in.ID, in.Fate, times)
		}
		if in.Fate == cancelled && in.Nonce != nil && !j.filled(*in.Nonce) {
			j.fault("%s is cancelled, and its nonce %d is not filled in any final block", in.ID, *in.Nonce)
		}
	default:
		j.fault("%s has not ended: it is %s", in.ID, in.Fate)
	}
}

// filled reports whether a filler with the nonce is in a final block.
func (j *accountJudge) filled(nonce uint64) bool {
	return slices.ContainsFunc(j.own[Nothing], func(m Mined) bool { return m.Nonce == nonce && m.Block <= j.Final })
}
