// Command conch elects the one process that may act, and shows who leads. conch demo proves it.
package main

import (
	"os"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// Set by the linker: -X main.version=… -X main.commit=….
var (
	version = "devel"
	commit  = ""
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.System(), cli.Build{Version: version, Commit: commit}, services(), commands()...))
}
