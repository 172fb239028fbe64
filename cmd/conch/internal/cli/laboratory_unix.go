//go:build unix

package cli

import (
	"os"
	"syscall"
)

// Become makes this process another program; it returns only if it cannot. So a signal reaches that one, once.
func Become(_ World, path string, args []string) error {
	return syscall.Exec(path, append([]string{path}, args...), os.Environ())
}
