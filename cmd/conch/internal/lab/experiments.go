//go:build unix

package lab

import "github.com/spf13/cobra"

// experiments returns the commands that need a private Postgres server.
func (l lab) experiments() []*cobra.Command {
	return []*cobra.Command{l.demo(), l.demoNode(), l.chaos(), l.chaosChild(), l.chaosStray(), l.bench(), l.benchHolder()}
}
