package chunksync

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/conchhq/conch/internal/durable"
)

// refuseForeign refuses a folder with entries of another program, which the store could harm.
func (d disk) refuseForeign() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case lockFile, promiseFile, catalogFile, oldCatalog, chunkFolder, newFolder:
		case "lost+found": // the folder is a disk
		default:
			return &FolderError{Dir: d.dir, Entry: e.Name()}
		}
	}
	return nil
}

// prepare makes the folders and removes unfinished drafts.
func (d disk) prepare() error {
	begun, err := os.ReadDir(d.path(newFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range begun {
		if !strings.HasPrefix(e.Name(), draftName) {
			continue
		}
		if err := os.Remove(d.path(newFolder, e.Name())); err != nil {
			return err
		}
	}
	for _, folder := range []string{chunkFolder, newFolder} {
		if err := os.MkdirAll(d.path(folder), 0o700); err != nil {
			return err
		}
	}
	// The parent folder may be another user's, who does not let this process open it.
	parent := durable.Folder(filepath.Dir(d.dir))
	if errors.Is(parent, fs.ErrPermission) {
		parent = nil
	}
	return errors.Join(durable.Folder(d.dir), parent)
}
