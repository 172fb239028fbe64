package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

func (a *app) config() *cobra.Command {
	return Group(&cobra.Command{
		Use:     "config",
		Short:   "look at a configuration file",
		Example: "  conch config check --config conch.toml",
	}, a.configCheck())
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
		Args: NoArguments,
	}
	nodeFlags(cmd, &src)
	cmd.RunE = Does(func(context.Context) error {
		cfg, err := a.load(src)
		if _, faulty := errors.AsType[*config.FaultsError](err); err != nil && !faulty {
			return usage{err}
		}
		list := append([]config.Fault{}, faultsOf(cfg, err)...)
		if cfg.Read() {
			list = append(list, faultsOf(cfg, node.Check(cfg, a.Kinds), list...)...)
		}
		return a.printFaults(src.Path, config.InOrder(list))
	})
	return cmd
}

// faultsOf returns the faults in an error, except those of keys that already have a fault.
func faultsOf(cfg config.Config, err error, known ...config.Fault) (found []config.Fault) {
	list, isList := errors.AsType[*config.FaultsError](err)
	switch {
	case isList:
		found = slices.Clone(list.List)
	case err != nil:
		found = []config.Fault{cfg.Fault("database.url", err.Error())} // nothing else is wrong
	}
	return slices.DeleteFunc(found, func(f config.Fault) bool {
		return slices.ContainsFunc(known, func(k config.Fault) bool { return k.Key == f.Key })
	})
}

func (a *app) printFaults(path string, found []config.Fault) error {
	if a.JSON {
		if err := a.Document(map[string]any{"ok": len(found) == 0, "file": path, "faults": found}); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		if a.JSON {
			return nil
		}
		return a.Line("%s: ok", path)
	}
	if !a.JSON {
		for _, f := range found {
			if err := a.Line("%s: %s", path, f); err != nil {
				return err
			}
		}
	}
	return usage{fmt.Errorf("%s has %d fault%s", path, len(found), plural(len(found)))}
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
