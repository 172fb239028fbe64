package auditor

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// request checks that each acknowledgement was kept, and that a key stands for one transaction. Only a restore may take one
// away: what was acknowledged after the database was saved.
func (j *judge) request(q Request) {
	var kept []string
	for _, a := range q.Acks {
		in := intent{q.Owner, a.ID}
		t, known := j.told[in]
		switch {
		case !known && j.undone(q.Owner, a.At):
			j.forget(in, q, a)
		case !known:
			j.verdict.Accepted++
			j.verdict.Lost++
			j.fault("%s was acknowledged to the key %s, and its node does not know it", j.name(in), q.Key)
		case t.Key != q.Key || t.Payload != q.Payload:
			j.verdict.Lost++
			j.fault("%s was acknowledged to the key %s for %s, and its node has the key %s and %s", j.name(in), q.Key, q.Payload, t.Key, t.Payload)
		}
		if known {
			kept = append(kept, a.ID)
		}
	}
	if len(kept) > 1 {
		j.verdict.Twice++
		j.fault("%s was acknowledged as %v", j.name(intent{q.Owner, q.Key}), kept)
	}
}

// tell compares what a node tells of a transaction with the ledger.
func (j *judge) tell(t Told) {
	in := intent{t.Owner, t.ID}
	j.verdict.Accepted++
	e, landed := j.landed[in]
	untrue := func(format string, args ...any) {
		j.verdict.Untrue++
		j.fault(format, args...)
	}
	switch {
	case t.First == "" || t.First == t.Fate:
	case t.First == reverted && t.Fate == confirmed && j.undone(t.Owner, t.FirstAt):
		j.verdict.TakenBack++ // the row that said so was lost, and a grant of that time has landed
	default:
		untrue("%s was told %s and is %s now", j.name(in), t.First, t.Fate)
	}
	switch t.Fate {
	case confirmed:
		j.verdict.Confirmed++
		switch {
		case !landed:
			untrue("%s was told confirmed, and the ledger does not have it", j.name(in))
		case e.Attempt != t.Attempt || t.Block != 0 && e.Block > t.Block:
			untrue("%s was told confirmed by the attempt %s of block %d, and the ledger has %s in block %d", j.name(in), t.Attempt, t.Block, e.Attempt, e.Block)
		}
	case reverted:
		j.verdict.Reverted++
		if landed {
			untrue("%s was told reverted, and has landed in block %d", j.name(in), e.Block)
		}
		if j.needless(t) {
			j.verdict.Denied++
			j.fault("%s was told reverted, and its customer has not ended it: %s", j.name(in), t.Payload)
		}
	default:
		j.verdict.Lost++
		j.fault("%s has not ended: it is %s", j.name(in), t.Fate)
	}
	if landed && e.Payload != payloadHash(t.Payload) {
		untrue("%s has landed in block %d, and what landed is not what was asked for: %s", j.name(in), e.Block, t.Payload)
	}
}

// payloadHash is how a ledger knows what was asked for.
func payloadHash(payload string) string {
	h := sha256.Sum256([]byte("conch payload" + payload))
	return "0x" + hex.EncodeToString(h[:])
}

// needless reports whether nobody wanted the end of a transaction. Money never runs out, so that it could be carried out.
func (j *judge) needless(t Told) bool {
	for _, q := range j.Requests {
		if q.Owner == t.Owner && q.Key == t.Key {
			return !q.Ends
		}
	}
	return false
}

// strangers looks for what has landed and nobody has asked for.
func (j *judge) strangers() {
	asked := map[string][]string{} // payloads by owner and key
	for _, q := range j.Requests {
		asked[q.Owner+" "+q.Key] = append(asked[q.Owner+" "+q.Key], q.Payload)
	}
	landed := make([]intent, 0, len(j.landed))
	for in := range j.landed {
		landed = append(landed, in)
	}
	slices.SortFunc(landed, func(a, b intent) int {
		return slices.Compare([]string{a.owner, a.sequence}, []string{b.owner, b.sequence})
	})
	keys := map[string]intent{}
	for _, in := range landed {
		t, known := j.told[in]
		if !known {
			j.unlisted(in)
			continue
		}
		j.payloads[in] = t.Payload
		key := t.Owner + " " + t.Key
		if !slices.Contains(asked[key], t.Payload) {
			j.fault("%s has landed in block %d, and nobody has asked for it: %s", j.name(in), j.landed[in].Block, t.Payload)
		}
		if before, twice := keys[key]; twice {
			j.verdict.Twice++
			j.fault("the key %s has landed twice, as %s and %s", t.Key, before.sequence, in.sequence)
		}
		keys[key] = in
	}
}
