// Command conch elects the one process that may act, shows who it is, and proves
// it: conch demo.
package main

import (
	"os"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// Stamped by the linker: -X main.version=… -X main.commit=….
var (
	version = "devel"
	commit  = ""
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.System(), cli.Build{Version: version, Commit: commit}, services(), commands()...))
}
