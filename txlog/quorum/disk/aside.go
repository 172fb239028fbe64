package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SetAside renames a store, damaged or not, so that a new one can be made in its place, with another id. It returns its new
// path. The node is no member any more until the leader admits the new store: conch node does it by itself with a store that is of no
// use to the others, since it is damaged or has lost a promise, and conch log recover when a person says so. While
// another process has the store, it waits until the context ends. The error is store.ErrHeld, or one of the system.
func SetAside(ctx context.Context, path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if err := lock(ctx, f, true); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.aside-%d", path, n)
		if err := os.Link(path, to); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return "", err
		}
		// The mark goes last: a store with one is refused, a mark without a store says nothing.
		err := os.Remove(path)
		if err == nil {
			err = os.Rename(path+marked, to+marked)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		return to, syncFolder(filepath.Dir(path))
	}
}
