package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// StoreVerdict says what a store file has.
type StoreVerdict struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	First     uint64 `json:"first"`
	Index     uint64 `json:"index"`
	Hash      string `json:"hash"`
	State     string `json:"state"`
	Entries   int    `json:"entries"` // that were checked against the one before

	Evidence []Proof `json:"evidence,omitempty"`
}

// Proof is what a member has signed that cannot be true: two heads, or one that the leader of that time has denied.
type Proof struct {
	Heads []SignedHead `json:"heads"`
}

// SignedHead is what a member has signed.
type SignedHead struct {
	Member string `json:"member"`
	Index  uint64 `json:"index"`
	Term   uint64 `json:"term"`
	Hash   string `json:"hash"`
	State  string `json:"state"`
	Signed []byte `json:"signed"` // as the member has sent it, with its signature
}

// text says what a proof shows.
func (p Proof) text() string {
	h := p.Heads[0]
	if len(p.Heads) == 1 {
		return fmt.Sprintf("evidence: %s has signed a head of entry %d (hash %s), and the leader of that time has denied it, as far as this node knew: either it lies, or its key is stolen, or that leader had forgotten the entry, as with a store that was restored from a backup", h.Member, h.Index, brief(h.Hash))
	}
	o := p.Heads[1]
	return fmt.Sprintf("evidence: the heads of entry %d by %s (hash %s, state %s) and of entry %d by %s (hash %s, state %s) cannot both be true",
		h.Index, h.Member, brief(h.Hash), brief(h.State), o.Index, o.Member, brief(o.Hash), brief(o.State))
}

func (a *shell) verifyStore(ctx context.Context, namespace, file string) error {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	s, err := disk.OpenReadOnly(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usagef("there is no store %s: [[logs]] has its file in store, or it is logs/NAMESPACE.log in the node's data_dir", file)
	}
	if err != nil {
		return unread(err)
	}
	defer func() { _ = s.Close() }()
	if g := s.Genesis(); g.Namespace != namespace {
		return cli.Usagef("the store %s has the log %q, and not %q", file, g.Namespace, namespace)
	}
	v, err := checked(s)
	if err != nil {
		return fmt.Errorf("the store %s is not whole: %w", file, err)
	}
	if a.JSON {
		return a.Document(v)
	}
	_ = a.Line("%s: entries %d to %d are whole, %d of them were checked one by one; hash %s, state %s", file, v.First, v.Index, v.Entries, brief(v.Hash), brief(v.State))
	for _, p := range v.Evidence {
		_ = a.Line("%s", p.text())
	}
	return nil
}

// proofs returns what the store keeps against members.
func proofs(s store.Store) (all []Proof, err error) {
	evidence, err := quorum.Evidence(s)
	for _, heads := range evidence {
		var p Proof
		for _, h := range heads {
			p.Heads = append(p.Heads, SignedHead{Member: h.Member, Index: h.Index, Term: h.Term, Hash: h.Hash.String(), State: h.State.String(), Signed: h.Encode()})
		}
		all = append(all, p)
	}
	return all, err
}

// unread is the error of a store that a command cannot read, with what becomes of it.
func unread(err error) error {
	switch {
	case errors.Is(err, disk.ErrForeign):
		return cli.Usagef("%w", err)
	case errors.Is(err, store.ErrDamaged):
		return fmt.Errorf("%w. Its node moves it aside when it starts, begins with a new one, and fetches the log from the others", err)
	}
	return err
}

// checked reads each record of a store, and makes the state anew.
func checked(s store.Store) (StoreVerdict, error) {
	view := s.View()
	v := StoreVerdict{ID: s.Genesis().ID().String(), Namespace: s.Genesis().Namespace, First: view.Floor.Index + 1}
	at := view.Floor
	for at.Index < view.Last.Index {
		records, err := s.Records(at.Index+1, mostPage)
		if err != nil {
			return v, err
		}
		for _, r := range records {
			if r.Index != at.Index+1 || r.Prev != at.Hash {
				return v, fmt.Errorf("%w: entry %d does not follow entry %d", txlog.ErrChain, r.Index, at.Index)
			}
			at = r.Position()
			v.Entries++
		}
	}
	c, err := store.Load(s, newState(s.Genesis()))
	if err != nil {
		return v, err
	}
	if c.Position() != view.Last || at != view.Last {
		return v, fmt.Errorf("%w: the copy ends at %d, and the store at %d", txlog.ErrChain, c.Position().Index, view.Last.Index)
	}
	v.Index, v.Hash, v.State = at.Index, at.Hash.String(), c.Hash().String()
	if v.Evidence, err = proofs(s); err != nil {
		return v, err
	}
	return v, c.Scrub()
}
