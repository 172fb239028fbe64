//go:build unix

package lab

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
)

// chaosSequencer hurts five organisations that share a private contract. It has no use for some flags of the other chaos.
func (l lab) chaosSequencer(ctx context.Context, cmd *cobra.Command, cfg consortium.Config) error {
	if err := unused(cmd, "--sequencer has five organisations and all kinds of its faults", "nodes", "lease", "takeover", "only", "keep-going"); err != nil {
		return err
	}
	return l.runConsortium(ctx, cfg)
}
