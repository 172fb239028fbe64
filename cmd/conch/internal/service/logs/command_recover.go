package logs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

func (a *shell) recover() *cobra.Command {
	var path, from, out string
	cmd := &cobra.Command{
		Use:   "recover NAMESPACE",
		Short: "begin a new lineage of a log whose majority of disks is lost for good",
		Long: `recover makes another log of the copy that one node has: with its state, its results and its indices, another id, and
this node as the one member. What others had acknowledged after that copy is lost, so take the node with the newest copy
(conch log verify --store says its index), and stop the old log everywhere first: nothing else keeps it from going on.

With --out it does so and writes a recovery file; with --from it makes this node a follower of the log of such a file.
Each store that was there is kept beside the new one. Then start the nodes, and make the others members again
(conch log members --set).

An id in [[logs]] has to be the new one. A node whose configuration names it needs no file: it moves its old store
aside and fetches the log from the others.`,
		Example: `  conch log recover flags --config n1/conch.toml --out flags.recovery
  conch log recover flags --config n2/conch.toml --from flags.recovery
  conch log members flags --set n1,n2,n3`,
		Args: exactly(1, "the namespace of the log"),
	}
	flags := cmd.Flags()
	flags.StringVar(&path, "config", "conch.toml", "configuration `file` of the node, which does not run")
	flags.StringVar(&out, "out", "", "recovery `file` to write; it must not be there")
	flags.StringVar(&from, "from", "", "recovery `file` of another node")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(ctx context.Context) error {
			if (out == "") == (from == "") {
				return cli.Usagef("recover needs one of --out and --from: see %q", cmd.CommandPath()+" --help")
			}
			c, err := config.Load(config.Source{Path: path, Getenv: a.Getenv, Sections: node.Sections(a.Kinds)})
			if err != nil {
				return err
			}
			section := config.Of[*Section](c)
			l, err := section.find(args[0])
			if err != nil {
				return err
			}
			if from != "" {
				return a.adopt(ctx, l, from)
			}
			return a.branch(ctx, section, l, out)
		})(cmd, args)
	}
	return cmd
}

func (s *Section) find(namespace string) (*Log, error) {
	for i := range s.all {
		if s.all[i].Namespace == namespace {
			return &s.all[i], nil
		}
	}
	return nil, cli.Usagef("the configuration has no [[logs]] with the namespace %q", namespace)
}

// Recovered is a log that goes on with another one.
type Recovered struct {
	ID    string `json:"id"`
	Index uint64 `json:"index"`          // where it goes on
	Kept  string `json:"kept,omitempty"` // the store that was there
}

func (a *shell) branch(ctx context.Context, section *Section, l *Log, out string) error {
	identity := section.peers.Identity
	id, err := mtls.LoadIdentity(identity.Key, identity.Certificate)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return cli.Usagef("%s is there already: name another file with --out", out)
	}
	if _, err := os.Lstat(l.Store); errors.Is(err, fs.ErrNotExist) {
		return cli.Usagef("there is no store %s: recover --out goes on from one, on the node with the newest copy", l.Store)
	}
	snapshot, r, err := branch(ctx, l, txlog.Member{Name: identity.Name, Key: fingerprintOf(id.Signer())})
	if err != nil {
		return err
	}
	if err := writeNew(out, snapshot); err != nil {
		return fmt.Errorf("the log has begun, and its recovery file cannot be written: %w", err)
	}
	return a.recovered(l, r)
}

func (a *shell) adopt(ctx context.Context, l *Log, from string) error {
	snapshot, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usagef("there is no recovery file %s: --out makes one", from)
	}
	if err != nil {
		return cli.Usagef("the recovery file cannot be read: %w", err)
	}
	r, err := adopt(ctx, l, snapshot)
	if err != nil {
		return err
	}
	return a.recovered(l, r)
}

func (a *shell) recovered(l *Log, r Recovered) error {
	if !l.ID.IsZero() && l.ID.String() != r.ID {
		a.Say("warning: the configuration names the old log: write id = %q", r.ID)
	}
	if a.JSON {
		return a.Document(r)
	}
	return a.Line("%s goes on at index %d, as log %s", l.Namespace, r.Index, r.ID)
}

// branch makes a log of the copy in a store, with one member, and returns the copy with which it begins.
func branch(ctx context.Context, l *Log, self txlog.Member) (snapshot []byte, r Recovered, err error) {
	old, err := copyIn(ctx, l)
	if err != nil {
		return nil, r, err
	}
	if r.Kept, self.Store, err = renew(ctx, l); err != nil {
		return nil, r, err
	}
	g := old.Genesis()
	g.Members = []txlog.Member{self}
	_, _ = rand.Read(g.Nonce[:]) // never fails
	child, err := old.Child(g)
	if err != nil {
		return nil, r, err
	}
	return child.Snapshot(), r, begin(ctx, l, child, &r)
}

// adopt makes a store of the copy with which a log begins.
func adopt(ctx context.Context, l *Log, snapshot []byte) (r Recovered, err error) {
	child, err := txlog.Restore(snapshot, l.machine().make)
	switch {
	case len(snapshot) > 0 && !versioned(snapshot[0]):
		return r, cli.Usagef("this is no recovery file, as conch log recover --out writes one: it does not begin as one, and is of another kind. The store of a log is none either")
	case errors.Is(err, txlog.ErrVersion):
		return r, cli.Usagef("this is no recovery file, as conch log recover --out writes one, or else it was %w", err)
	case err != nil:
		return r, cli.Usagef("this is no recovery file, as conch log recover --out writes one, or it is not whole: %w", err)
	}
	g := child.Genesis()
	if _, some := child.Last(); some || g.Parent.Log.IsZero() || g.Namespace != l.Namespace || g.Machine != l.machine().full {
		return r, cli.Usagef("this is no recovery file of the log %s", l.Namespace)
	}
	if r.Kept, _, err = renew(ctx, l); err != nil {
		return r, err
	}
	return r, begin(ctx, l, child, &r)
}

// versioned reports whether the first byte of a file may be a version of recovery files. Most other files begin with a text or a zero.
func versioned(first byte) bool { return first > 0 && first < ' ' }

// copyIn reads a store, and checks all of it.
func copyIn(ctx context.Context, l *Log) (*txlog.Copy, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	s, err := disk.OpenReadOnly(ctx, l.Store)
	if err != nil {
		return nil, unread(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := checked(s); err != nil {
		return nil, err
	}
	return store.Load(s, newState(s.Genesis()))
}

// renew moves the store aside, if there is one, and makes another.
func renew(ctx context.Context, l *Log) (kept string, id uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	kept, err = disk.Retire(ctx, l.Store)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", 0, err
	}
	if err := os.MkdirAll(filepath.Dir(l.Store), 0o700); err != nil {
		return kept, 0, err
	}
	id, err = disk.Create(ctx, l.Store)
	return kept, id, err
}

// begin has a log begin with a copy.
func begin(ctx context.Context, l *Log, child *txlog.Copy, r *Recovered) error {
	s, err := disk.Begin(ctx, l.Store, child.Genesis())
	if err != nil {
		return err
	}
	r.ID, r.Index = child.Genesis().ID().String(), child.Position().Index
	return errors.Join(s.Keep(child.Position(), child.Snapshot(), store.Step{}), s.Close())
}

// writeNew writes a file that was not there.
func writeNew(path string, body []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	return errors.Join(err, f.Sync(), f.Close())
}
