package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
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
every fault with its line and key, and then exits with 2. A certificate that has ended
is a fault; of one that ends within seven days it warns, and of a cron with two day
fields it says which days are meant. It opens no connection.
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
		warnings := []config.Fault{}
		for _, p := range node.Papers(cfg, a.Kinds, time.Now()) { // a node starts with each of them: what it is for may be the least of its work
			f := p.Finding()
			switch fault := cfg.Fault(p.Key, f.Detail+": "+f.Remedy); f.Status {
			case doctor.Fail:
				list = append(list, fault)
			case doctor.Warn:
				warnings = append(warnings, fault)
			}
		}
		for _, k := range a.Kinds {
			if k.Remark != nil && cfg.Read() {
				k.Remark(cfg, time.Now(), func(key, text string) { warnings = append(warnings, cfg.Fault(key, text)) })
			}
		}
		return a.PrintFaults(src.Path, src.Path, config.InOrder(list), warnings)
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

// PrintFaults prints what is wrong with a file or a part of it, of which what is the name. It leaves it to Main to report what could not be
// written. Its error is one of usage if there is a fault.
func (s *Shell) PrintFaults(what, path string, found, warnings []config.Fault) (err error) {
	if len(found) > 0 {
		err = Usagef("%s has %d fault%s", what, len(found), plural(len(found)))
	}
	if s.JSON {
		return errors.Join(s.Document(map[string]any{"ok": len(found) == 0, "file": path, "faults": found, "warnings": warnings}), err)
	}
	for _, f := range warnings {
		_ = s.Line("%s: warning: %s", path, f)
	}
	for _, f := range found {
		_ = s.Line("%s: %s", path, f)
	}
	if err == nil {
		return s.Line("%s: ok", path)
	}
	return err
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
