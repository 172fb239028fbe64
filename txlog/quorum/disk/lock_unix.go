//go:build unix

package disk

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/conchhq/conch/txlog/store"
)

// lock keeps others from writing the file, or from using it, until it is closed. The library locks it once more, which does nothing.
func lock(ctx context.Context, f *os.File, write bool) error {
	how := syscall.LOCK_SH
	if write {
		how = syscall.LOCK_EX
	}
	tick := time.NewTicker(between)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fault(store.ErrHeld, "%s: ask it, or end it", f.Name())
		}
	}
}

// unlock lets others have the file.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
