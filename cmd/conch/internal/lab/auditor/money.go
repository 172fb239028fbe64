package auditor

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math/big"
)

// note is money in a purse.
type note struct {
	Purse  string
	Amount uint64
}

// purses has the money in each purse.
type purses map[string]*big.Int

func (p purses) add(purse string, amount uint64, sign int64) {
	if p[purse] == nil {
		p[purse] = new(big.Int)
	}
	delta := new(big.Int).SetUint64(amount)
	p[purse].Add(p[purse], delta.Mul(delta, big.NewInt(sign)))
}

// money compares the notes that are unspent with what was issued and paid, purse by purse, and looks whether each node
// knows each of them.
func (j *judge) money() {
	before := len(j.verdict.Violations)
	notes := j.openings()
	have := purses{}
	for _, state := range sorted(j.created) {
		n, known := notes[state]
		switch {
		case j.spent[state]:
		case !known:
			j.fault("the state %s is unspent, and no node can open it", state)
		default:
			have.add(n.Purse, n.Amount, 1)
		}
	}
	want := j.owed()
	all := maps.Clone(want)
	maps.Copy(all, have)
	for _, purse := range sorted(all) {
		have.add(purse, 0, 1)
		want.add(purse, 0, 1)
		if have[purse].Cmp(want[purse]) != 0 {
			j.fault("the purse %s has %v in unspent notes, and by what has landed it has %v", purse, have[purse], want[purse])
		}
	}
	j.verdict.Conserved = len(j.verdict.Violations) == before
}

// openings returns the notes by their states. An opening counts if the ledger's commitment is its hash.
func (j *judge) openings() map[string]note {
	notes, knows := map[string]note{}, map[[2]string]bool{}
	for _, o := range j.Openings {
		commitment, known := j.created[o.State]
		var n note
		switch {
		case !known:
			j.fault("%s knows the state %s, which nothing that landed has created", o.Node, o.State)
			continue
		case j.spent[o.State]:
			j.fault("%s takes the state %s for unspent, and it is spent", o.Node, o.State)
			continue
		case commitment != o.commitment():
			j.fault("%s opens the state %s wrongly: the ledger's commitment is another", o.Node, o.State)
			continue
		case json.Unmarshal(o.Data, &n) != nil || n.Purse == "" || n.Amount == 0:
			j.fault("the state %s is no note", o.State)
			continue
		}
		notes[o.State], knows[[2]string{o.Node, o.State}] = n, true
	}
	for _, node := range j.Contract.Nodes {
		for _, state := range sorted(j.created) {
			if !j.spent[state] && !knows[[2]string{node, state}] {
				j.fault("%s does not know the unspent state %s", node, state)
			}
		}
	}
	return notes
}

// commitment is what a ledger keeps of a state.
func (o Opening) commitment() string {
	b := append([]byte("conch state data"), o.Salt...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(o.Data)))
	h := sha256.Sum256(append(b, o.Data...))
	return "0x" + hex.EncodeToString(h[:])
}

// owed returns what each purse has, by the requests that have landed.
func (j *judge) owed() purses {
	want := purses{}
	for in := range j.landed {
		var asked struct {
			Pay *struct {
				From, To string
				Amount   uint64
			}
			Issue *struct {
				To     string
				Amount uint64
			}
		}
		if json.Unmarshal([]byte(j.payloads[in]), &asked) != nil {
			continue // what nobody has asked for is a violation already
		}
		if asked.Issue != nil {
			want.add(asked.Issue.To, asked.Issue.Amount, 1)
		}
		if asked.Pay != nil {
			want.add(asked.Pay.From, asked.Pay.Amount, -1)
			want.add(asked.Pay.To, asked.Pay.Amount, 1)
		}
	}
	return want
}
