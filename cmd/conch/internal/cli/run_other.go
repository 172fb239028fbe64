//go:build !unix

package cli

import "github.com/spf13/cobra"

// services returns nothing: keeping a command takes a process group, so a Unix.
func (a *app) services() []*cobra.Command { return nil }

func (a *app) keepers() []*cobra.Command { return nil }
