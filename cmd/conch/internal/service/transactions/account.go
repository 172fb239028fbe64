package transactions

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/internal/secretfile"
)

func (a *shell) account() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "account",
		Short: "keys of accounts on a chain",
		Long: `account makes keys for the [[accounts]] of a node. It uses no node and no database, so --db
has no effect.`,
		Example: `  conch account new --keystore payer.json --password-file payer.password`,
		Args:    cli.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Usagef("account needs the word new: see %q", cmd.CommandPath()+" --help")
		},
	}
	cmd.AddCommand(a.accountNew())
	return cmd
}

func (a *shell) accountNew() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "make a key in a new, encrypted file, and print its address",
		Long: `new makes the key of an Ethereum account and encrypts it (web3 secret storage, as geth has
it). The password is the first line of a file; if there is no such file, new draws a password
and writes it there. No file is ever overwritten. Keep copies of both: with them anybody can
spend what the account has, and without them nobody can.`,
		Example: `  conch account new
  conch account new --keystore payer.json --password-file payer.password --json`,
		Args: cli.NoArguments,
	}
	file := cmd.Flags().String("keystore", "key.json", "the new `file` of the key")
	password := cmd.Flags().String("password-file", "password", "the `file` whose first line is the password")
	cmd.RunE = cli.Does(func(context.Context) error {
		word, err := passwordIn(*password)
		if err != nil {
			return err
		}
		key := make([]byte, 32)
		_, _ = rand.Read(key) // it never fails
		account, err := evm.WriteKeystore(*file, hex.EncodeToString(key), word, a.cost)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.Document(map[string]string{"address": account.String(), "keystore": *file, "password_file": *password})
		}
		return a.Line("%v is a new account, in %s. Keep a copy of it, and of %s.", account, *file, *password)
	})
	return cmd
}

// passwordIn returns the first line of a file. If there is no such file, it is made with a word that nobody can guess.
func passwordIn(file string) (string, error) {
	word, err := secretfile.Line(file)
	if errors.Is(err, fs.ErrNotExist) {
		word := rand.Text()
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintln(f, word)
		return word, errors.Join(err, f.Close())
	}
	return word, err
}
