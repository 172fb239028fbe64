//go:build !unix

package lab

import "github.com/spf13/cobra"

// experiments need a private Postgres server, which needs a Unix.
func (l lab) experiments() []*cobra.Command { return nil }
