//go:build unix && !linux

package cli

import "os"

// takeTerminal does nothing: a signal cannot be blocked for one thread here.
func takeTerminal(*os.File) bool { return false }
