package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/conchhq/conch/internal/durable"
)

// SetAside renames a store, damaged or not, so that a new one can be made in its place, with another id. It returns its new
// path. The node is no member any more until the leader admits the new store: conch node does it by itself with a store that is of no
// use to the others, since it is damaged or has lost a promise, and Retire is for one that a person gives up. While
// another process has the store, it waits until the context ends. The error is store.ErrHeld, or one of the system.
func SetAside(ctx context.Context, path string) (string, error) { return rename(ctx, path, "aside") }

// Retire renames a store as SetAside does, whose log has ended since another one goes on with it: it has another name, since nothing is wrong with
// the disk, however many there are.
func Retire(ctx context.Context, path string) (string, error) { return rename(ctx, path, "ended") }

func rename(ctx context.Context, path, as string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if err := lock(ctx, f, true); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.%s-%d", path, as, n)
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
		return to, durable.Folder(filepath.Dir(path))
	}
}
