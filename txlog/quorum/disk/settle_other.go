//go:build !linux

package disk

import "os"

// forget does nothing: these systems have no such call.
func forget(*os.File) {}
