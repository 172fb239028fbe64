package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget has what is read next come from the disk. After a sync that failed, the system may show what the disk does not have.
func forget(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
