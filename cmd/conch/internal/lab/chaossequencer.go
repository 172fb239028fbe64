//go:build unix

package lab

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
)

// chaosSequencer hurts five organisations that share a private contract. It has no use for some flags of the other chaos.
func (l lab) chaosSequencer(ctx context.Context, cmd *cobra.Command, cfg consortium.Config) error {
	for _, other := range []string{"nodes", "lease", "takeover", "only", "keep-going"} {
		if cmd.Flags().Changed(other) {
			return cli.Usagef("--sequencer has five organisations and all kinds of its faults: leave --%s out", other)
		}
	}
	return l.runConsortium(ctx, cfg)
}

func sequencerKinds() string {
	var b strings.Builder
	for _, k := range consortium.Kinds() {
		fmt.Fprintf(&b, "  %-18s %s\n", k, consortium.Describe(k))
	}
	return strings.TrimRight(b.String(), "\n")
}
