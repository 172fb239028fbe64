package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/assemble"
	"github.com/conchhq/conch/cmd/conch/internal/config"
)

func (a *app) config() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "look at a configuration file",
		Example: "  conch config check --config conch.toml",
		Args:    unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("config needs the word check: see %q", cmd.CommandPath()+" --help")
		},
	}
	cmd.AddCommand(a.configCheck())
	return cmd
}

func (a *app) configCheck() *cobra.Command {
	src := config.Source{}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "find every fault of a configuration file, without starting anything",
		Long: `check reads a configuration file as "conch node" would, environment and flags
included, with the files of tokens and certificates that it names. It prints ok, or
every fault with its line and key, and then exits with 2. It opens no connection.
Give it the flags that the node is started with.`,
		Example: `  conch config check --config /etc/conch.toml
  conch config check --config conch.toml --id node-1
  conch config check --json | jq '.faults[].key'`,
		Args: noArguments,
	}
	nodeFlags(cmd, &src)
	cmd.RunE = does(func(context.Context) error {
		cfg, err := a.load(src)
		if err == nil {
			err = assemble.Check(cfg)
		}
		return a.printFaults(src.Path, err)
	})
	return cmd
}

// printFaults shows what a check found.
func (a *app) printFaults(path string, err error) error {
	found := []config.Fault{}
	list, isList := errors.AsType[*config.FaultsError](err)
	switch {
	case isList:
		found = list.List
	case errors.Is(err, assemble.ErrNoDatabase):
		found = append(found, config.Fault{Key: "database.url", Text: err.Error()})
	case err != nil:
		return usage{err}
	}
	if a.json {
		if err := a.document(map[string]any{"ok": len(found) == 0, "file": path, "faults": found}); err != nil {
			return err
		}
	}
	name := filepath.Base(path)
	if len(found) == 0 {
		if a.json {
			return nil
		}
		return a.line("%s: ok", name)
	}
	if !a.json {
		for _, f := range found {
			if err := a.line("%s: %s", name, f); err != nil {
				return err
			}
		}
	}
	return usage{fmt.Errorf("%s has %d fault%s", name, len(found), plural(len(found)))}
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
