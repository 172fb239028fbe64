//go:build !unix

package chunksync

import "os"

// lockFolder does not lock here: the operator must not use a folder in two processes.
func lockFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
