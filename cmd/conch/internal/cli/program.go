package cli

import "github.com/conchhq/conch/cmd/conch/internal/node"

// Program is one of the programs of conch.
type Program struct {
	Name, Short, Long, Example string
	Build                      Build
	Kinds                      []node.Kind // of the services of its nodes
	Commands                   []Commands
	Slots                      OpenSlots // of conch cron

	operates bool // it has the commands of this package too
}

// Conch is the program of users.
func Conch(b Build, kinds []node.Kind, commands ...Commands) Program {
	return Program{
		Name:  "conch",
		Short: "elects the one process that may act, and proves it",
		Long: `conch elects the one of several processes that may act, proves to the outside
world that it is the one, hands over in milliseconds, and loses nothing when the
one dies.

Try it with nothing installed but PostgreSQL's server programs: conch demo`,
		Example: `  conch demo
  conch --db postgres://app_owner@db.example/app migrate up
  conch --db postgres://app_node@db.example/app status --json`,
		Build: b, Kinds: kinds, Commands: commands, operates: true,
	}
}
