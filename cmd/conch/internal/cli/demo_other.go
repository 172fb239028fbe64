//go:build !unix

package cli

import "github.com/spf13/cobra"

// experiments need a private Postgres server, which needs a Unix.
func (a *app) experiments() []*cobra.Command { return nil }
