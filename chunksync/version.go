package chunksync

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/conchhq/conch/fence"
)

// Tenure identifies one leadership by the epoch and the term of its token. Nodes compare
// both, since two histories of a database can issue the same epoch.
type Tenure struct {
	Epoch int64
	Term  fence.Term
}

func tenureOf(t fence.Token) Tenure { return Tenure{Epoch: t.Epoch, Term: t.Term} }

func (t Tenure) String() string { return fmt.Sprintf("epoch %d term %s", t.Epoch, t.Term) }

type tenureJSON struct {
	Epoch int64  `json:"epoch"`
	Term  string `json:"term"`
}

// MarshalJSON implements json.Marshaler. The term becomes a UUID.
func (t Tenure) MarshalJSON() ([]byte, error) {
	return json.Marshal(tenureJSON{t.Epoch, t.Term.String()})
}

// UnmarshalJSON implements json.Unmarshaler. An epoch below 0 is an error.
func (t *Tenure) UnmarshalJSON(text []byte) error {
	var in tenureJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.Epoch < 0 {
		return fmt.Errorf("the epoch %d is below 0", in.Epoch)
	}
	term, err := fence.ParseTerm(in.Term)
	if err != nil {
		return err
	}
	*t = Tenure{Epoch: in.Epoch, Term: term}
	return nil
}

// Version numbers the catalogs of a scope: the leader's epoch, and a sequence number within
// it. It only grows, on every node.
type Version struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
}

// Compare returns -1 if v is older than o, 0 if they are equal, and 1 if v is newer.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.Epoch, o.Epoch), cmp.Compare(v.Seq, o.Seq))
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Epoch, v.Seq) }
