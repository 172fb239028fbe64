package evidence

import (
	"errors"
	"fmt"
	"slices"
)

// Account is what is left of the transactions of one account: what customers asked
// for, what the chain has, and what the database says.
type Account struct {
	Wishes  []Wish   // in any order
	Mined   []Mined  // in the order of the chain
	Final   uint64   // the newest block that is final
	Intents []Intent // in any order
	Nonces  []uint64 // that the database has given away
	Hashes  []string // of everything that was ever signed, by the database
	Epochs  []int64  // of its leaderships in which something was signed
}

// Wish is what a customer asked for, at one node or at several by one key.
type Wish struct {
	Key  string
	Mark string   // the data of its transaction, which no other one has
	IDs  []string // that nodes acknowledged it under, each once; none: it never heard
}

// Mined is one transaction of the account in the chain.
type Mined struct {
	Hash   string
	Nonce  uint64
	Block  uint64
	Mark   string // its data; "0x" if it has none
	Failed bool   // it is in the chain and had no effect
}

// Intent is how the database says that something accepted ended.
type Intent struct{ ID, Fate string }

// ended are the fates after which nothing more happens to an intent.
var ended = []string{done, "cancelled", "rejected"}

const done = "done"

// NoMark is the data of a transaction without any: one that closes a gap.
const NoMark = "0x"

// Chain is the part of a verdict that is about transactions.
type Chain struct {
	Intents   int `json:"intents"` // acknowledged
	Done      int `json:"done"`    // of these, with effect in a block that is final
	Missing   int `json:"missing"`
	Twice     int `json:"twice"` // had their effect once too often, or more
	NonceGaps int `json:"nonce_gaps"`
	// Faults too: in the chain and unknown to the database or to all customers;
	// acknowledged and without an end, or with another than the chain's; one key
	// acknowledged as two transactions.
	Foreign int    `json:"-"`
	Endless int    `json:"-"`
	Split   int    `json:"-"`
	First   string `json:"-"` // the first fault, in words
}

// JudgeAccount weighs what is left of an account. It changes nothing in it.
func JudgeAccount(a Account) Chain {
	j := accountJudge{a: a}
	j.effects()
	j.nonces()
	j.hashes()
	j.ends()
	return j.c
}

// accountJudge is one judgement under way.
type accountJudge struct {
	a Account
	c Chain
}

func (j *accountJudge) fault(count *int, format string, args ...any) {
	*count++
	if j.c.First == "" {
		j.c.First = fmt.Sprintf(format, args...)
	}
}

// effects counts how often the chain did what each customer asked for. One who never
// heard may have it or not, but not twice.
func (j *accountJudge) effects() {
	all, final := map[string][]Mined{}, map[string]bool{}
	for _, m := range j.a.Mined {
		if !m.Failed {
			all[m.Mark] = append(all[m.Mark], m)
			final[m.Mark] = final[m.Mark] || m.Block <= j.a.Final
		}
	}
	for _, w := range j.a.Wishes {
		if times := all[w.Mark]; len(times) > 1 {
			j.fault(&j.c.Twice, "%s was done %d times, by %s and %s", w.Key, len(times), times[0].Hash, times[1].Hash)
		}
		if len(w.IDs) == 0 {
			continue
		}
		j.c.Intents++
		if final[w.Mark] {
			j.c.Done++
		} else {
			j.fault(&j.c.Missing, "%s was acknowledged and is not done in any final block", w.Key)
		}
		if len(w.IDs) > 1 {
			j.fault(&j.c.Split, "%s was acknowledged as %v", w.Key, w.IDs)
		}
	}
}

// nonces looks for numbers that were given away, or jumped over, and are not used, and
// for such that are used again.
func (j *accountJudge) nonces() {
	used := map[uint64]bool{}
	var end uint64
	for _, m := range j.a.Mined {
		if used[m.Nonce] {
			j.fault(&j.c.NonceGaps, "nonce %d is in the chain again, by %s", m.Nonce, m.Hash)
		}
		used[m.Nonce] = true
		end = max(end, m.Nonce+1)
	}
	for _, n := range j.a.Nonces {
		end = max(end, n+1)
	}
	for n := range end {
		if !used[n] {
			j.fault(&j.c.NonceGaps, "nonce %d of %d is not in the chain", n, end)
		}
	}
}

// hashes looks for transactions that nobody had stored before they left, and for
// such that nobody asked for.
func (j *accountJudge) hashes() {
	stored, asked := map[string]bool{}, map[string]bool{NoMark: true}
	for _, h := range j.a.Hashes {
		stored[h] = true
	}
	for _, w := range j.a.Wishes {
		asked[w.Mark] = true
	}
	for _, m := range j.a.Mined {
		switch {
		case !stored[m.Hash]:
			j.fault(&j.c.Foreign, "%s is in the chain and not in the database", m.Hash)
		case !asked[m.Mark]:
			j.fault(&j.c.Foreign, "%s is in the chain and nobody asked for it", m.Hash)
		}
	}
}

// ends looks whether everything acknowledged has ended, and did not end in the chain
// after the database had given it up.
func (j *accountJudge) ends() {
	fates, mined := map[string]string{}, map[string]bool{}
	for _, m := range j.a.Mined {
		mined[m.Mark] = true
	}
	for _, in := range j.a.Intents {
		fates[in.ID] = in.Fate
	}
	for _, w := range j.a.Wishes {
		for _, id := range w.IDs {
			switch fate, known := fates[id]; {
			case !known:
				j.fault(&j.c.Endless, "%s was acknowledged as %s, which the database does not know", w.Key, id)
			case !slices.Contains(ended, fate):
				j.fault(&j.c.Endless, "%s was acknowledged as %s, which is still %s", w.Key, id, fate)
			case fate != done && mined[w.Mark]:
				j.fault(&j.c.Endless, "%s was acknowledged as %s, which is %s, and is in the chain", w.Key, id, fate)
			}
		}
	}
}

// Fault says what is wrong, nil if nothing is.
func (c Chain) Fault() error {
	switch {
	case c.First != "":
		return fmt.Errorf("of %d transactions: %d missing, %d twice, %d nonce gaps, %d foreign to the database, %d acknowledged and without a true end, %d under two IDs: %s",
			c.Intents, c.Missing, c.Twice, c.NonceGaps, c.Foreign, c.Endless, c.Split, c.First)
	case c.Intents == 0:
		return errors.New("no transaction was acknowledged, so nothing was shown of any")
	default:
		return nil
	}
}
