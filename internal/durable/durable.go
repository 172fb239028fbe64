// Package durable puts files where a host that has lost its power finds them again, whole or not at all.
package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Replace writes a file that only its owner reads, in the place of one that may be there.
func Replace(file string, text []byte) error { return put(file, text, os.Rename, (*os.File).Sync) }

// Create writes such a file where there was none; its error is of fs.ErrExist if there is one. The file system needs links: unlike a
// rename, a link takes nobody's place.
func Create(file string, text []byte) error { return put(file, text, os.Link, (*os.File).Sync) }

// put has the text on the disk before the file's name leads to it, and the name before it returns.
func put(file string, text []byte, place func(from, to string) error, sync func(*os.File) error) error {
	folder := filepath.Dir(file)
	draft, err := os.CreateTemp(folder, "."+filepath.Base(file)+"-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	_, err = draft.Write(text)
	if err = errors.Join(err, sync(draft), draft.Close()); err == nil {
		err = place(draft.Name(), file)
	}
	if err == nil {
		_ = syncFolder(folder, sync) // some file systems refuse it, and have stored the name all the same
	}
	return err
}

// Folder makes the names in a folder durable: a new one alone is only in memory. Windows has no such call.
func Folder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return syncFolder(path, (*os.File).Sync)
}

func syncFolder(path string, sync func(*os.File) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(sync(f), f.Close())
}
