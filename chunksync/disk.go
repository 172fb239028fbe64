package chunksync

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/conchhq/conch/internal/durable"
)

// disk is the folder of one store:
//
//	lock          locked by the process that uses the folder
//	promise.json  the tenure that this node follows
//	catalog.log   the last complete catalog: an older one, and the changes since
//	catalog.json  the same, as builds without a log wrote it, until the first change
//	chunks/HASH   chunks
//	new/draft-*   unfinished files, removed when the folder is opened
//
// Tests set trip, which is called before each operation and may fail it.
type disk struct {
	dir  string
	trip func(op, name string) error
}

const (
	lockFile    = "lock"
	promiseFile = "promise.json"
	catalogFile = "catalog.log"
	oldCatalog  = "catalog.json"
	chunkFolder = "chunks"
	newFolder   = "new"
	draftName   = "draft-" // and a number
)

func (d disk) path(parts ...string) string {
	return filepath.Join(append([]string{d.dir}, parts...)...)
}

func (d disk) do(op, name string, step func() error) error {
	if d.trip != nil {
		if err := d.trip(op, name); err != nil {
			return err
		}
	}
	return step()
}

// syncDir makes the names in a folder survive a crash of the machine.
func (d disk) syncDir(parts ...string) error {
	folder := d.path(parts...)
	return d.do("syncdir", filepath.Base(folder), func() error { return durable.Folder(folder) })
}

// replace replaces a file. After an error without sure, a crash may leave the old or the new.
func (d disk) replace(name string, data []byte) (sure bool, err error) {
	f, err := d.draft(bytes.NewReader(data), int64(len(data)))
	if err == nil {
		err = d.sync(f)
	}
	if err != nil {
		return true, err
	}
	if err := d.place(f, name); err != nil {
		return false, err
	}
	err = d.syncDir()
	return err == nil, err
}

// read returns nil for a file that does not exist.
func (d disk) read(name string) ([]byte, error) {
	text, err := os.ReadFile(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// chunks lists the chunks in the folder and ignores files without a hash for a name.
func (d disk) chunks() (map[Hash]struct{}, error) {
	entries, err := os.ReadDir(d.path(chunkFolder))
	if err != nil {
		return nil, err
	}
	all := make(map[Hash]struct{}, len(entries))
	for _, e := range entries {
		if h, err := parseHash(e.Name()); err == nil {
			all[h] = struct{}{}
		}
	}
	return all, nil
}

// openChunk opens a chunk that the caller verifies. It returns ErrDamaged if the chunk is
// gone or cannot be read. Other errors, such as too many open files, say nothing about it.
func (d disk) openChunk(h Hash) (f *os.File, size int64, err error) {
	f, err = os.Open(d.path(chunkFolder, h.String()))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO) {
		return nil, 0, damaged(h, err)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func damaged(h Hash, why error) error { return fmt.Errorf("%w: chunk %s: %w", ErrDamaged, h, why) }

// chunk reads and verifies a chunk, with the errors of openChunk and ErrDamaged for other bytes.
func (d disk) chunk(h Hash) ([]byte, error) {
	f, size, err := d.openChunk(h)
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(size, ChunkSize+1))
	_, err = io.ReadFull(f, data)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, damaged(h, err)
	}
	if hashOf(data) != h {
		return nil, damaged(h, errMismatch)
	}
	return data, nil
}

// remove removes a file. A missing one is no error.
func (d disk) remove(parts ...string) error {
	return d.do("remove", parts[len(parts)-1], func() error {
		err := os.Remove(d.path(parts...))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}
