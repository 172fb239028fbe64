package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCache has what is read next come from the disk. After a sync that failed, the system may show what the disk does not have.
func dropCache(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
