//go:build !unix

package chunksync

import "os"

// syncFolder does nothing, since these systems have no such call. The newest names survive
// a crash of the process, but maybe not one of the machine.
func syncFolder(string) error { return nil }

// lockFolder does not lock here: the operator must not use a folder in two processes.
func lockFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
