package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/transport/mtls"
)

// identityFile is the file of a node's key unless --file names another.
const identityFile = "conch-identity.pem"

func (a *app) identity() *cobra.Command {
	return Group(&cobra.Command{
		Use:   "identity",
		Short: "the key by which other organisations know this node",
		Long: `Nodes of several organisations prove to each other who they are by a key. identity
makes such a key and prints its fingerprint, which the other organisations write into
their configuration. No certificate authority is needed. Exchange fingerprints by a way
that you trust already, such as a signed mail or a call: who can change a fingerprint on
its way can take the node's place.`,
		Example: `  conch identity new
  conch identity show --json`,
	}, a.identityNew(), a.identityShow())
}

func (a *app) identityNew() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "make a key in a new file, and print its fingerprint",
		Long: `new makes an Ed25519 key in a file that only you can read, and prints its fingerprint.
It never overwrites a file: peers may have written that key's fingerprint down.`,
		Example: `  conch identity new
  conch identity new --file /etc/conch/identity.pem --json`,
		Args: NoArguments,
	}
	file := cmd.Flags().String("file", identityFile, "the new `file` of the key")
	cmd.RunE = Does(func(context.Context) error {
		i, err := mtls.CreateIdentity(*file)
		if errors.Is(err, mtls.ErrExists) {
			return fmt.Errorf("%w: %q prints its fingerprint, and --file takes another name", err, "conch identity show --file "+*file)
		}
		if err != nil {
			return err
		}
		if a.JSON {
			return a.Document(identified{*file, i.Fingerprint().String()})
		}
		return a.Line("%s has a new key. Only this node may have it. Its peers write:\n\n  key = %q", *file, i.Fingerprint())
	})
	return cmd
}

func (a *app) identityShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "print the fingerprint of a key",
		Long: `show prints the fingerprint of a node's key: the SHA-256 of its public part
(SubjectPublicKeyInfo). A certificate that a CA makes for the key does not change it.`,
		Example: `  conch identity show
  conch identity show --file /etc/conch/identity.pem --json`,
		Args: NoArguments,
	}
	file := cmd.Flags().String("file", identityFile, "the `file` of the key")
	cmd.RunE = Does(func(context.Context) error {
		if _, err := os.Stat(*file); errors.Is(err, fs.ErrNotExist) {
			return Usagef("there is no key at %s: %q makes one, and --file names another", *file, "conch identity new --file "+*file)
		}
		i, err := mtls.LoadIdentity(*file, "")
		if err != nil {
			return err
		}
		if a.JSON {
			return a.Document(identified{*file, i.Fingerprint().String()})
		}
		return a.Line("%v", i.Fingerprint())
	})
	return cmd
}

// identified is what JSON says of a key.
type identified struct {
	File string `json:"file"`
	Key  string `json:"key"` // the fingerprint, as in [[peers]]
}
