//go:build unix

package cli

import (
	"os"
	"syscall"
)

// become makes this process another program; it returns only if it cannot.
func become(_ World, path string, args []string) error {
	return syscall.Exec(path, append([]string{path}, args...), os.Environ())
}
