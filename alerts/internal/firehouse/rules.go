package firehouse

import (
	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/internal/world"
)

// The rules that the world breaks, from outside of the machines: between what they ask for and what comes of it.
const (
	ruleRows   = "rows"
	ruleRecord = "record-first"
	ruleFence  = "fenced-marks"
	ruleOrder  = "in-order"
	ruleDoubt  = "doubt"
	ruleKey    = "key"
	ruleNoData = "no-data"
	ruleGate   = "gate"
	ruleFiles  = "same-files"
	ruleOneKey = "one-key"
	ruleAlone  = "leader-resolves"
	ruleHourly = "hourly"
)

var rules = []world.Rule[Config]{
	{Name: ruleRows, Invariant: Open, Why: "what fires and who was told are rows; else a new leader does not know of an incident, and never closes it"},
	{Name: ruleRecord, Invariant: Twice, In: Config{Hours: 6, Seed: 7}, Why: "that a message is sent is recorded before; else the next leader does not know that one may be on its way"},
	{Name: ruleFence, Invariant: Twice, Why: "what is recorded is fenced; else a leader that was frozen goes on beside the next one, and neither knows what the other has told"},
	{Name: ruleOrder, Invariant: Told, In: Config{Hours: 6, Seed: 6}, Why: "nothing newer is said before the older has its answer, or none for sure; else the older arrives after it"},
	{Name: ruleDoubt, Invariant: Told, Why: "what is in doubt is said once more, when nothing older can arrive; else what is lost stays so"},
	{Name: ruleKey, Invariant: Open, Why: "the key names the group, and nothing that changes; else the next leader closes another incident"},
	{Name: ruleNoData, Invariant: False, Why: "what selects nothing changes nothing; else an alert is over when its data are gone"},
	{Name: ruleGate, Invariant: False, In: Config{Hours: 6, Seed: 6}, Why: "to send is an act behind the gate, with room for all of it; else a leader that was frozen wakes up and says what is long over"},
	{Name: ruleFiles, Invariant: False, Why: "a rule that the leader's file lacks changes nothing until all nodes lack it; else each change of the leader ends it, or has it begin"},
	{Name: ruleOneKey, Invariant: Open, Why: "all nodes tell that the database is away under one key; else those are never closed whose node has died"},
	{Name: ruleAlone, Invariant: Open, Why: "the leader alone says that the database is back; else a node that has told it and was killed leaves it open"},
	{Name: ruleHourly, Invariant: Cut, In: Config{Hours: 12}, Why: "a node that is still cut off says so each hour; else nobody knows once the leader has taken it for gone"},
}

// load reads the rows for a new leader.
func (r *run) load(n *node) core.Loaded {
	in := r.tables.Load(r.Clock())
	in.Looked = r.looked(n)
	switch r.cfg.Break {
	case ruleRows:
		in.Rows = core.Rows{Evaluation: in.Evaluation}
	case ruleDoubt:
		for i := range in.Tellings {
			in.Tellings[i].Asked, in.Tellings[i].Doubt = false, false
		}
	}
	return in
}

// looked is what is read with each evaluation.
func (r *run) looked(n *node) core.Looked {
	in := r.tables.Look(r.Clock())
	for i := range in.Nodes {
		switch one := &in.Nodes[i]; r.cfg.Break {
		case ruleFiles:
			one.Hash = map[int]string{0: "0", 1: "1"}[n.file]
		case ruleAlone:
			one.Cries, one.Life = 0, ""
		}
	}
	return in
}

// tamper breaks a rule of what is recorded.
func (r *run) tamper(w core.Rows) core.Rows {
	if r.cfg.Break == ruleRecord {
		kept := w.Tellings
		w.Tellings = nil
		for _, t := range kept {
			if !t.Asked {
				w.Tellings = append(w.Tellings, t)
			}
		}
	}
	return w
}
