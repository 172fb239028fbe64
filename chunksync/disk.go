package chunksync

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// disk is the folder of one store:
//
//	lock          held by the process that has it
//	promise.json  whom this node hears
//	catalog.json  the last complete catalog
//	chunks/HASH   content
//	new/draft-*   what is being written; cleared away when the folder is opened
//
// trip is called before each operation and may refuse it: in tests, where the process
// ends there.
type disk struct {
	dir  string
	trip func(op, name string) error
}

const (
	lockFile    = "lock"
	promiseFile = "promise.json"
	catalogFile = "catalog.json"
	chunkFolder = "chunks"
	newFolder   = "new"
	draftName   = "draft-" // and a number
)

func (d disk) path(parts ...string) string {
	return filepath.Join(append([]string{d.dir}, parts...)...)
}

// do makes one step, unless it is refused.
func (d disk) do(op, name string, step func() error) error {
	if d.trip != nil {
		if err := d.trip(op, name); err != nil {
			return err
		}
	}
	return step()
}

// draft writes a file that has no place yet, down to the disk itself.
func (d disk) draft(data []byte) (path string, err error) {
	var f *os.File
	err = d.do("create", newFolder, func() error {
		f, err = os.CreateTemp(d.path(newFolder), draftName+"*")
		return err
	})
	if err != nil {
		return "", err
	}
	err = d.do("write", newFolder, func() error {
		_, err := f.Write(data)
		return err
	})
	if err == nil {
		// Without this a crash of the machine could leave the name with other bytes.
		err = d.do("sync", newFolder, f.Sync)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name()) // else the next start does it
		return "", err
	}
	return f.Name(), nil
}

// place gives a draft its name, in one step: there is the old file or the new one.
func (d disk) place(draft string, parts ...string) error {
	to := d.path(parts...)
	return d.do("rename", parts[len(parts)-1], func() error { return os.Rename(draft, to) })
}

// settle makes the names in a folder outlive a crash of the machine.
func (d disk) settle(parts ...string) error {
	folder := d.path(parts...)
	return d.do("settle", filepath.Base(folder), func() error { return syncFolder(folder) })
}

// replace writes a file of the store anew. Unless sure, an error leaves it open which of
// the two is there after a crash.
func (d disk) replace(name string, data []byte) (sure bool, err error) {
	draft, err := d.draft(data)
	if err != nil {
		return true, err
	}
	if err := d.place(draft, name); err != nil {
		return false, err
	}
	err = d.settle()
	return err == nil, err
}

// read returns nil for a file that was never written.
func (d disk) read(name string) ([]byte, error) {
	text, err := os.ReadFile(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// chunks lists what is there; what has no chunk's name is somebody else's.
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

// chunk reads and verifies. ErrDamaged: it is gone, cannot be read or has other bytes.
// Another error says nothing of the chunk: too many files are open, say.
func (d disk) chunk(h Hash) ([]byte, error) {
	damaged := func(why error) error { return fmt.Errorf("%w: chunk %s: %w", ErrDamaged, h, why) }
	f, err := os.Open(d.path(chunkFolder, h.String()))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO) {
		return nil, damaged(err)
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, ChunkSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, damaged(err)
	}
	if hashOf(data) != h {
		return nil, damaged(errNotThis)
	}
	return data, nil
}

// remove is done also if there was nothing.
func (d disk) remove(h Hash) error {
	return d.do("remove", h.String(), func() error {
		err := os.Remove(d.path(chunkFolder, h.String()))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}
