package evidence

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// Verdict is what a record proves. Its JSON is part of conch's outside.
type Verdict struct {
	Acts        int    `json:"acts"`        // rows and outside lines
	Kills       int    `json:"kills"`       // leaders killed
	Leaders     int    `json:"leaders"`     // distinct terms that acted, of the work and of the account
	Failover    Spread `json:"failover_ms"` // kill → first committed act of a higher epoch
	ActDoor     Spread `json:"act_door_ms"` // kill → the successor's act door open
	Overlapping int    `json:"overlapping"`
	Lost        int    `json:"lost"`
	Duplicated  int    `json:"duplicated"`
	Chain       *Chain `json:"chain,omitempty"` // nil: there were no transactions
}

// Judge weighs a record. It changes nothing in it.
func Judge(r Record) Verdict {
	f := Find(r)
	v := Verdict{
		Acts:        len(r.Ledger) + len(r.Outside),
		Kills:       len(r.Kills),
		Leaders:     leaders(r),
		Failover:    spreadOf(delays(r.Kills, firstCommits(r.Acks))),
		ActDoor:     spreadOf(delays(r.Kills, firstEntries(r))),
		Overlapping: len(f.Overlapping),
		Lost:        len(f.Lost),
		Duplicated:  len(f.Duplicated),
	}
	if r.Account != nil {
		c := JudgeAccount(*r.Account)
		v.Chain = &c
		v.Leaders += len(r.Account.Epochs)
	}
	return v
}

// Findings are what must not be in a record, one by one, and beside it the acts outside
// that only a fence could have refused: see [Record.Margin].
type Findings struct {
	Overlapping, Lost, Duplicated []Finding
	Slow                          []Act
}

// Find looks for all of it. It changes nothing in the record.
func Find(r Record) Findings {
	var f Findings
	f.Lost, f.Duplicated = account(r.Ledger, r.Acks)
	seen := map[Act]bool{} // one act may be found several times
	for _, o := range overlapping(r) {
		switch {
		case !o.slow(r.Margin):
			f.Overlapping = append(f.Overlapping, o)
		case !seen[o.Acts[0]]:
			seen[o.Acts[0]] = true
			f.Slow = append(f.Slow, o.Acts[0])
		}
	}
	return f
}

// Fault says why the run did not show what it set out to show, nil if it did.
// killsAsked: somebody was to be killed.
func (v Verdict) Fault(killsAsked bool) error {
	switch {
	case v.Overlapping+v.Lost+v.Duplicated > 0:
		return fmt.Errorf("%d overlapping, %d lost, %d duplicated: more than one process acted or something was lost", v.Overlapping, v.Lost, v.Duplicated)
	case v.Acts == 0:
		return errors.New("nobody acted, so nothing was shown")
	case v.Chain != nil && v.Chain.Fault() != nil:
		return v.Chain.Fault()
	case killsAsked && v.Kills == 0:
		return errors.New("no leader was killed, so no failover was shown")
	case killsAsked && v.Failover.Samples() == 0:
		return errors.New("no successor acted after a kill, so no failover was shown")
	default:
		return nil
	}
}

func leaders(r Record) int {
	terms := map[string]bool{}
	for _, row := range r.Ledger {
		terms[row.Term] = true
	}
	for _, act := range r.Outside {
		terms[act.Term] = true
	}
	return len(terms)
}

// account compares the ledger with what was acknowledged. Lost is a hole below
// the highest row, or an acknowledged row that is not there; a row that another
// term wrote under the same number does not stand for it.
func account(ledger []Row, acks []Ack) (lost, duplicated []Finding) {
	type key struct {
		seq  int64
		term string
	}
	present := map[key]bool{}
	numbers := map[int64]bool{}
	var highest int64
	for _, row := range ledger {
		switch {
		case row.Seq < 1: // numbers begin at 1
			duplicated = append(duplicated, Finding{What: fmt.Sprintf("%s was made up", row)})
			continue
		case numbers[row.Seq]:
			duplicated = append(duplicated, Finding{What: fmt.Sprintf("%s is there twice", row)})
		}
		numbers[row.Seq], present[key{row.Seq, row.Term}] = true, true
		highest = max(highest, row.Seq)
	}
	for seq := int64(1); seq < highest; seq++ {
		if !numbers[seq] {
			lost = append(lost, Finding{What: fmt.Sprintf("row %d is missing", seq)})
		}
	}
	seen := map[key]bool{}
	for _, ack := range acks {
		k := key{ack.Seq, ack.Term}
		if seen[k] || present[k] {
			continue
		}
		seen[k] = true
		if hole := ack.Seq < highest && !numbers[ack.Seq]; !hole { // holes are counted already
			lost = append(lost, Finding{What: fmt.Sprintf("row %d of epoch %d was acknowledged and is not there", ack.Seq, ack.Epoch), At: ack.At})
		}
	}
	return lost, duplicated
}

// firstCommits gives each epoch's first acknowledged commit.
func firstCommits(acks []Ack) map[int64]fence.Instant {
	first := map[int64]fence.Instant{}
	for _, a := range acks {
		earliest(first, a.Epoch, a.At)
	}
	return first
}

// firstEntries gives the instant at which each epoch's act door was first seen
// open: its own report or its first act, whichever came first.
func firstEntries(r Record) map[int64]fence.Instant {
	first := map[int64]fence.Instant{}
	for _, e := range r.Entries {
		earliest(first, e.Epoch, e.At)
	}
	for _, a := range r.Outside {
		earliest(first, a.Epoch, a.Start)
	}
	return first
}

func earliest(first map[int64]fence.Instant, epoch int64, at fence.Instant) {
	if old, ok := first[epoch]; !ok || at < old {
		first[epoch] = at
	}
}

// delays measures from each kill to the first sign of any higher epoch. A sign
// before the kill means that somebody else was killed than the leader, and a
// kill without one has not been followed yet: neither is a failover.
func delays(kills []Kill, signs map[int64]fence.Instant) []time.Duration {
	var out []time.Duration
	for _, k := range kills {
		var after []fence.Instant
		for epoch, at := range signs {
			if epoch > k.Epoch {
				after = append(after, at)
			}
		}
		if len(after) == 0 {
			continue
		}
		if d := slices.Min(after).Sub(k.At); d >= 0 {
			out = append(out, d)
		}
	}
	return out
}
