package chunksync

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Store is the folder of one scope's files on one node. Whatever kills the process or
// the machine, at any instant: the folder holds the promise and the catalog of before
// or of after, whole. All methods are safe for concurrent use.
type Store struct {
	disk disk
	lock *os.File

	// writing is held while a promise or a catalog is decided on and written: nothing
	// that was promised meanwhile can be missed.
	writing sync.Mutex

	mu      sync.RWMutex
	promise promise
	catalog catalog
	asOf    time.Time
	have    map[Hash]struct{}
	named   map[Hash]struct{} // by the catalog
	offered map[Hash]struct{} // by the one that is on its way; nil: none is
	pins    map[Hash]int      // of what is read, written or sent
	dirty   bool              // chunks were placed since their folder was settled
	broken  error
}

// Open takes a folder, which is made if it is not there. ErrInUse: another process has
// it. A *[FolderError]: it is none of a store. ErrDamaged: what stands there is not what was written; it is left as it is, since
// to forget a promise is worse than not to start.
func Open(dir string) (*Store, error) { return open(disk{dir: dir}) }

func open(d disk) (*Store, error) {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	if err := d.own(); err != nil {
		return nil, err
	}
	lock, err := lockFolder(d.path(lockFile))
	if err != nil {
		return nil, err
	}
	s := &Store{disk: d, lock: lock, pins: map[Hash]int{}}
	if err := s.load(); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return s, nil
}

// promiseJSON is the promise on the disk; a tenure is called reign there.
type promiseJSON struct {
	Tenure Tenure `json:"reign"`
	Holder string `json:"holder"`
}

func (s *Store) load() error {
	if err := s.disk.prepare(); err != nil {
		return err
	}
	text, err := s.disk.read(promiseFile)
	if err != nil {
		return err
	}
	if text != nil {
		var p promiseJSON
		if err := json.Unmarshal(text, &p); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, promiseFile, err)
		}
		s.promise.Tenure, s.promise.Holder = p.Tenure, p.Holder
	}
	text, err = s.disk.read(catalogFile)
	if err != nil {
		return err
	}
	if text != nil {
		if s.catalog, err = parseCatalog(text); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, catalogFile, err)
		}
		if s.catalog.Tenure.Epoch > s.promise.Tenure.Epoch {
			return fmt.Errorf("%w: %s is of an epoch that was never promised", ErrDamaged, catalogFile)
		}
		if info, err := os.Stat(s.disk.path(catalogFile)); err == nil {
			s.asOf = info.ModTime() // when it was last known to be the leader's
		}
	}
	s.promise.Held, s.named = s.catalog.Version(), s.catalog.chunks()
	s.have, err = s.disk.chunks()
	s.dirty = len(s.have) > 0 // whoever placed them may have been killed right after
	return err
}

// Close lets another process have the folder. Reads that are under way may go on.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.fail(ErrClosed)
	return s.lock.Close()
}

// fail refuses all further writes: nobody knows what is on the disk.
func (s *Store) fail(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = why
	}
}

// doubt is why the store takes nothing more, until it is opened again; nil: it does.
func (s *Store) doubt() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.broken
}

// promised is what the node has promised and what it holds.
func (s *Store) promised() promise {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.promise
}

// latest is the last complete one, and when it was last known to be the leader's.
func (s *Store) latest() (catalog, time.Time) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.catalog, s.asOf
}

// whole reports whether all content of the catalog is there.
func (s *Store) whole() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.missingOf(s.catalog, 1)) == 0
}

// missingOf lists chunks that are not there, at most so many, in the order of names.
// The caller holds mu.
func (s *Store) missingOf(c catalog, most int) (missing []Hash) {
	seen := map[Hash]struct{}{}
	for _, name := range c.names() {
		for _, h := range c.Files[name].Chunks {
			_, there := s.have[h]
			_, listed := seen[h]
			if there || listed {
				continue
			}
			if seen[h] = struct{}{}; len(missing) == most {
				return missing
			}
			missing = append(missing, h)
		}
	}
	return missing
}
