package auditor

import "time"

// undone reports whether a restore has taken away what a node has stored at an instant.
func (j *judge) undone(owner string, at time.Time) bool {
	for _, r := range j.Restores {
		if r.Owner == owner && !at.Before(r.Saved) && !at.After(r.Back) {
			return true
		}
	}
	return false
}

// forget notes what a restored node may have forgotten. What was told of it as final is so nevertheless.
func (j *judge) forget(in intent, q Request, a Ack) {
	j.verdict.Accepted++
	j.verdict.Forgotten++
	j.forgotten[in] = q
	if e, landed := j.landed[in]; a.First == confirmed && !landed {
		j.verdict.Untrue++
		j.fault("%s was told confirmed and then forgotten, and the ledger does not have it", j.name(in))
	} else if landed && e.Payload != payloadHash(q.Payload) {
		j.verdict.Untrue++
		j.fault("%s has landed in block %d and was forgotten, and what landed is not what was asked for: %s", j.name(in), e.Block, q.Payload)
	}
}

// unlisted judges what has landed and is not in its node's list. A restored node may have forgotten it, also before it has
// answered; then what landed is what some customer of that node was waiting for when the database was put back.
func (j *judge) unlisted(in intent) {
	e := j.landed[in]
	if q, was := j.forgotten[in]; was {
		j.payloads[in] = q.Payload
		for _, a := range q.Acks {
			other := intent{q.Owner, a.ID}
			if _, landed := j.landed[other]; landed && other != in {
				j.verdict.Again++
				break
			}
		}
		return
	}
	for i, r := range j.Restores {
		for k, q := range j.Requests {
			once := [2]int{i, k}
			if r.Owner == in.owner && q.Owner == in.owner && e.Payload == payloadHash(q.Payload) && q.waits(r.Back) && !j.excused[once] {
				j.excused[once] = true
				j.payloads[in] = q.Payload
				j.verdict.Accepted++
				j.verdict.Forgotten++
				return
			}
		}
	}
	j.fault("%s has landed in block %d, and its node does not know it", j.name(in), e.Block)
}

// stalls checks that a node at an old head has held up nobody else: each other member has landed something meanwhile.
func (j *judge) stalls() {
	for _, h := range j.Held {
		moved := map[string]bool{}
		for _, e := range j.Ledger.Entries {
			if e.Event == Landed && e.Block > h.From && e.Block <= h.To {
				moved[e.Owner] = true
			}
		}
		for _, m := range j.Contract.Members {
			if m != h.Owner && !moved[m] {
				j.fault("nothing of %s has landed in the blocks %d to %d, in which %s saw an old head", j.Contract.Names[m], h.From+1, h.To, j.Contract.Names[h.Owner])
			}
		}
	}
}
