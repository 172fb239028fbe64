package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/datadir"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

const (
	reloadPatience = 15 * time.Second
	reloadLook     = 20 * time.Millisecond
)

func (a *app) reload() *cobra.Command {
	src := config.Source{}
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "have the node of a configuration file read it again",
		Long: `reload finds the node by data_dir in the configuration file, sends it SIGHUP and
waits for its answer. Tokens and certificates are read again, new roles start,
roles that are gone are drained, changed ones hold from their next term on; what
needs a restart is named. A file with a fault changes nothing, and exits with 1.

It needs neither the database nor a token, only the right to signal the process.`,
		Example: `  conch reload --config /etc/conch.toml
  conch reload --json | jq .needs_restart`,
		Args: NoArguments,
	}
	fileFlag(cmd, &src.Path)
	cmd.RunE = Does(func(ctx context.Context) error {
		// The node finds the faults. Here the file need only say where the node is.
		cfg, err := a.load(src)
		if cfg.Node.DataDir == "" {
			if err != nil {
				return usage{err}
			}
			return Usagef("%s has no data_dir in [node], by which the node is found: add it, or send SIGHUP to the node yourself", src.Path)
		}
		answer, err := ask(ctx, cfg.Node.DataDir)
		if err != nil {
			return err
		}
		return a.printReload(answer)
	})
	return cmd
}

// ask signals the node and waits for its answer.
func ask(ctx context.Context, dir string) (out node.ReloadResult, err error) {
	pid, err := datadir.Find(dir)
	if err != nil {
		return out, fmt.Errorf("%w: is the node running, and is this its configuration file?", err)
	}
	before, _ := datadir.Read(dir)
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Signal(syscall.SIGHUP)
	}
	if err != nil {
		return out, fmt.Errorf("signalling the node, process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, reloadPatience)
	defer cancel()
	look := time.NewTicker(reloadLook)
	defer look.Stop()
	for {
		if r, err := datadir.Read(dir); err == nil && r.Seq > before.Seq {
			return out, errors.Join(json.Unmarshal(r.Answer, &out))
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return out, fmt.Errorf("the node, process %d, has not answered: its log says more", pid)
		}
	}
}

func (a *app) printReload(out node.ReloadResult) error {
	if a.JSON {
		if err := a.Document(out); err != nil {
			return err
		}
	}
	if !out.OK {
		texts := make([]string, 0, len(out.Faults))
		for _, f := range out.Faults {
			texts = append(texts, f.String())
		}
		return fmt.Errorf("nothing was changed: %s", strings.Join(texts, "; "))
	}
	if a.JSON {
		return nil
	}
	for _, part := range []struct {
		what string
		list []string
	}{
		{"started", out.Added},
		{"drained", out.Removed},
		{"changed from the next term on", out.Changed},
		{"needs a restart", out.NeedsRestart},
	} {
		if len(part.list) > 0 {
			_ = a.Line("%s: %s", part.what, strings.Join(part.list, ", "))
		}
	}
	return a.Line("read again")
}
