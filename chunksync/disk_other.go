//go:build !unix

package chunksync

import "os"

// syncFolder does nothing: these systems have no such call. A crash of the machine may
// take the newest names away; a crash of the process does not.
func syncFolder(string) error { return nil }

// lockFolder keeps nobody out here: see that every folder is one process's.
func lockFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
