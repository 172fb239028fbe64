package chunksync

import (
	"bytes"
	"fmt"
	"os"
)

// leastLog is how long a log gets at least before it is begun anew.
const leastLog = 64 << 10

// loadCatalog reads the log, or the catalog of a version that had none.
func (s *Store) loadCatalog() (c catalog, err error) {
	name, torn := catalogFile, false
	text, err := s.disk.read(name)
	if err == nil && text == nil {
		name = oldCatalog
		text, err = s.disk.read(name)
	}
	switch {
	case err != nil || text == nil:
		return c, err
	case name == oldCatalog:
		c, err = parseCatalog(text)
	default:
		c, torn, err = parseLog(text)
	}
	if err != nil {
		return c, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	if name == catalogFile {
		_ = s.disk.remove(oldCatalog) // until then the log goes first
		s.begun = int64(bytes.IndexByte(text, '\n'))
	}
	if name == catalogFile && !torn {
		s.log = int64(len(text))
		// The process that wrote the last line may have ended before it was synced. Here it counts.
		if last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1; last > 0 {
			if err := s.disk.rewrite(name, int64(last), text[last:]); err != nil {
				return c, err
			}
		}
	}
	if info, err := os.Stat(s.disk.path(name)); err == nil {
		s.asOf = info.ModTime() // when it was last known to be the leader's
	}
	return c, nil
}

// record writes a line with the change to the log, or begins the log anew with the catalog
// that the change makes: if that is of another leader, if the log's end is uncertain, or if
// the log has grown to twice its beginning. After an error without sure, a crash may leave
// the log with the change or without.
func (s *Store) record(by change, whole bool) (sure bool, err error) {
	anew := whole || s.log == 0
	if !anew && s.log < 2*s.begun+leastLog {
		return s.extendLog(by)
	}
	sure, err = s.beginLog(by)
	if err != nil && sure && !anew {
		// A full disk may have room for a line, and a removal has to make some.
		return s.extendLog(by)
	}
	return sure, err
}

func (s *Store) extendLog(by change) (sure bool, err error) {
	by.From = s.catalog.Seq // which may be newer than what the change was made from
	text, err := line(by)
	if err != nil {
		return true, err
	}
	if sure, err = s.disk.extend(catalogFile, s.log, text); err == nil {
		s.log += int64(len(text))
	}
	return sure, err
}

func (s *Store) beginLog(by change) (sure bool, err error) {
	text, err := line(s.catalog.after(by))
	if err != nil {
		return true, err
	}
	if sure, err = s.disk.replace(catalogFile, text); err == nil {
		s.log, s.begun = int64(len(text)), int64(len(text))
	}
	return sure, err
}
