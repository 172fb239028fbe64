// Command conch-lab is the laboratory of conch: it shows, measures and simulates what conch does, and hurts it.
package main

import (
	"os"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab"
	"github.com/conchhq/conch/cmd/conch/internal/service"
)

// Set by the linker: -X main.version=… -X main.commit=….
var version, commit string

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.System(), lab.Program(cli.Build{Version: version, Commit: commit}, service.Kinds())))
}
