//go:build unix

package fleet

import (
	"os"

	"github.com/conchhq/conch/cmd/conch/internal/beside"
)

// Find returns the path of a program that is built beside conch: the value of an environment variable, or a file beside
// the given program, or on the PATH; "" if there is none.
func Find(program, name, env string) string {
	if named := os.Getenv(env); named != "" {
		return named
	}
	return beside.Find(program, name)
}
