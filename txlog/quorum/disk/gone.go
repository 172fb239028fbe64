package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Gone returns what has become of the store's file, if there is none at its path any more, or another one: what is written goes on to be
// stored, where nobody finds it again once the file is closed. It asks the file system, which may take long.
func (s *Store) Gone() error {
	there, err := os.Stat(s.path)
	own, closed := s.file.Stat()
	switch {
	case closed != nil:
		return nil //nolint:nilerr // nobody uses it
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the store %s was removed while it was in use", s.path)
	case err == nil && !os.SameFile(there, own):
		return fmt.Errorf("another file was put in the place of the store %s while it was in use", s.path)
	}
	return err
}
