//go:build unix

package main_test

// causesOf says why each entry was skipped, from what stands before it in the chain. "Known" means that a block up to the one
// that the owner had as its newest when it gave the grant had said so already: nobody had to submit it.
func causesOf(all []stormEntry) []string {
	makers := map[string]string{} // the attempt that makes a state, by state
	for _, e := range all {
		for _, state := range e.Makes {
			makers[state] = e.Attempt
		}
	}
	var (
		made, spent = map[string]uint64{}, map[string]uint64{} // block, by state
		skipped     = map[string]uint64{}                      // block of the first time, by attempt
		over        = map[string]string{}                      // the attempt that landed, by owner and sequence
		causes      = make([]string, len(all))
	)
	cause := func(e stormEntry) (text string, since uint64) {
		before, again := skipped[e.Attempt]
		switch stormReasons[e.Reason] {
		case "missing":
		case "repeated":
			if over[e.Owner+e.Sequence] == e.Attempt {
				return "had landed itself", 0
			}
			return "another attempt had landed", 0
		default:
			return stormReasons[e.Reason], 0
		}
		for _, state := range e.Needs {
			if _, is := made[state]; is && spent[state] == 0 {
				continue
			}
			maker, known := makers[state]
			block, dead := skipped[maker]
			switch {
			case spent[state] > 0:
				text, since = "its input was spent", spent[state]
			case !known:
				text, since = "its maker is in no block", 0
			case dead:
				text, since = "made by a skipped entry", block
			default:
				text, since = "its maker came later", 0
			}
			break
		}
		if again {
			return "skipped again, " + text, before
		}
		return text, since
	}
	for i, e := range all {
		if e.Landed {
			over[e.Owner+e.Sequence] = e.Attempt
			for _, state := range e.Spends {
				spent[state] = e.Block
			}
			for _, state := range e.Makes {
				made[state] = e.Block
			}
			continue
		}
		text, since := cause(e)
		if since > 0 && since+stormLife <= e.Until {
			text += " (known)"
		}
		causes[i] = text
		if _, is := skipped[e.Attempt]; !is {
			skipped[e.Attempt] = e.Block
		}
	}
	return causes
}
