//go:build !unix

package lab

import "github.com/spf13/cobra"

// experiments returns none: a private Postgres server needs a Unix.
func (l lab) experiments() []*cobra.Command { return nil }
