//go:build !unix

package cli

import "github.com/spf13/cobra"

// services need a process group to keep, which needs a Unix.
func (a *app) services() []*cobra.Command { return nil }
