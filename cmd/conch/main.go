// Command conch elects the one process that may act, and shows who leads. conch demo proves it.
package main

import (
	"os"
	"runtime/debug"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// Set by the linker: -X main.version=… -X main.commit=….
var version, commit string

// collectAt is how many percent a heap grows before it is collected, twice Go's default. A collection also uses the
// processors on which this process has nothing else to do, and there the database and the chain's node may.
const collectAt = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	os.Exit(cli.Main(os.Args[1:], cli.System(), cli.Build{Version: version, Commit: commit}, services(), commands()...))
}
