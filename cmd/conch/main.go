// Command conch elects the one process that may act, and shows who leads. conch demo proves it.
package main

import (
	"os"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/service"
)

// Set by the linker: -X main.version=… -X main.commit=….
var version, commit string

func main() {
	p := cli.Conch(cli.Build{Version: version, Commit: commit}, service.Kinds(), service.Commands()...)
	p.Slots = service.Slots
	os.Exit(cli.Main(os.Args[1:], cli.System(), p))
}
