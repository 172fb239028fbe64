//go:build unix

package main_test

// past is what the blocks before an entry have said.
type past struct {
	makers      map[string]string // the attempt that makes a state, by state
	made, spent map[string]uint64 // block, by state
	skipped     map[string]uint64 // block of the first time, by attempt
	over        map[string]string // the attempt that landed, by owner and sequence
}

// causesOf says why each entry was skipped, from what stands before it in the chain. "Known" means that a block up to the one
// that the owner had as its newest when it gave the grant, which has a life of so many blocks, had said so already: nobody had to
// submit it.
func causesOf(all []stormEntry, life uint64) []string {
	p := past{map[string]string{}, map[string]uint64{}, map[string]uint64{}, map[string]uint64{}, map[string]string{}}
	for _, e := range all {
		for _, state := range e.Makes {
			p.makers[state] = e.Attempt
		}
	}
	causes := make([]string, len(all))
	for i, e := range all {
		if e.Landed {
			p.lands(e)
			continue
		}
		text, since := p.cause(e)
		if since > 0 && since+life <= e.Until {
			text += " (known)"
		}
		if _, again := p.skipped[e.Attempt]; again {
			text = "skipped again, " + text
		} else {
			p.skipped[e.Attempt] = e.Block
		}
		causes[i] = text
	}
	return causes
}

func (p past) lands(e stormEntry) {
	p.over[e.Owner+e.Sequence] = e.Attempt
	for _, state := range e.Spends {
		p.spent[state] = e.Block
	}
	for _, state := range e.Makes {
		p.made[state] = e.Block
	}
}

// cause returns why an entry was skipped, and since which block that could be seen; 0: it could not.
func (p past) cause(e stormEntry) (text string, since uint64) {
	switch stormReasons[e.Reason] {
	case "missing":
	case "repeated":
		if p.over[e.Owner+e.Sequence] == e.Attempt {
			return "had landed itself", 0
		}
		return "another attempt had landed", 0
	default:
		return stormReasons[e.Reason], 0
	}
	for _, state := range e.Needs {
		if p.made[state] > 0 && p.spent[state] == 0 {
			continue
		}
		maker, known := p.makers[state]
		block, dead := p.skipped[maker]
		switch {
		case p.spent[state] > 0:
			return "its input was spent", p.spent[state]
		case !known:
			return "its maker is in no block", 0
		case dead:
			return "made by a skipped entry", block
		default:
			return "its maker came later", 0
		}
	}
	return "for nothing that the chain shows", 0
}
