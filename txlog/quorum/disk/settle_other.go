//go:build !linux

package disk

import "os"

// dropCache does nothing: these systems have no such call.
func dropCache(*os.File) {}
