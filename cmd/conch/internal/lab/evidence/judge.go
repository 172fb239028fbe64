package evidence

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// Verdict is what a record proves. Its JSON form is public.
type Verdict struct {
	Acts        int    `json:"acts"` // rows and lines of the outside file
	Kills       int    `json:"kills"`
	Leaders     int    `json:"leaders"`     // distinct terms that acted, those of the account included
	Failover    Spread `json:"failover_ms"` // from a kill to the first committed row of a higher epoch
	ActDoor     Spread `json:"act_door_ms"` // from a kill until the successor's act door is open
	Overlapping int    `json:"overlapping"`
	Lost        int    `json:"lost"`
	Duplicated  int    `json:"duplicated"`
	Chain       *Chain `json:"chain,omitempty"` // nil: no transactions were sent
	Crons       *Crons `json:"crons,omitempty"` // nil: none was run

	Webhooks *Webhooks `json:"webhooks,omitempty"` // nil: nobody was told of transactions
}

// Judge judges a record without changing it.
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
		if r.Hook != nil {
			w := JudgeWebhooks(*r.Hook, r.Account.Intents)
			v.Webhooks = &w
		}
	}
	if r.Cron != nil {
		c := JudgeCron(*r.Cron)
		v.Crons = &c
	}
	return v
}

// Findings lists the faults in a record one by one. Slow holds the acts behind the act door
// that only a fence could have refused; see [Record.Margin].
type Findings struct {
	Overlapping, Lost, Duplicated []Finding
	Slow                          []Act
}

// Find returns the findings of a record without changing it.
func Find(r Record) Findings {
	var f Findings
	f.Lost, f.Duplicated = compareRows(r.Ledger, r.Acks)
	seen := map[Act]bool{} // an act may be found several times
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

// Fault returns an error that says why the run did not show what it was meant to show, or
// nil. killsAsked requires that a leader was killed and replaced.
func (v Verdict) Fault(killsAsked bool) error {
	switch {
	case v.Overlapping+v.Lost+v.Duplicated > 0:
		return fmt.Errorf("%d overlapping, %d lost, %d duplicated: more than one process acted or something was lost", v.Overlapping, v.Lost, v.Duplicated)
	case v.Acts == 0:
		return errors.New("nobody acted, so nothing was shown")
	case v.Chain != nil && v.Chain.Fault() != nil:
		return v.Chain.Fault()
	case v.Crons != nil && v.Crons.Fault() != nil:
		return v.Crons.Fault()
	case v.Webhooks != nil && v.Webhooks.Fault() != nil:
		return v.Webhooks.Fault()
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

// compareRows compares the ledger with the acknowledgements. Lost is a gap below the highest
// number, or an acknowledged row that is missing; a row that another term wrote under the
// same number does not replace it.
func compareRows(ledger []Row, acks []Ack) (lost, duplicated []Finding) {
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
		if hole := ack.Seq < highest && !numbers[ack.Seq]; !hole { // gaps are counted above
			lost = append(lost, Finding{What: fmt.Sprintf("row %d of epoch %d was acknowledged and is not there", ack.Seq, ack.Epoch), At: ack.At})
		}
	}
	return lost, duplicated
}

func firstCommits(acks []Ack) map[int64]fence.Instant {
	first := map[int64]fence.Instant{}
	for _, a := range acks {
		earliest(first, a.Epoch, a.At)
	}
	return first
}

// firstEntries returns when each epoch's act door was first seen open, by the holder's
// report or its first act.
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

// delays measures from each kill to the first sign of any higher epoch. A sign before the
// kill means that the killed process no longer led, and a kill without a sign has no
// successor yet: neither counts as a failover.
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
