package chunksync

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Store is the folder of one scope's files on one node. A crash of the process or of the
// machine, at any instant, leaves either the old promise and catalog or the new ones. All
// methods are safe for concurrent use.
type Store struct {
	disk disk
	lock *os.File

	// writing is held from the check of a promise or catalog until it is written.
	writing sync.Mutex

	mu      sync.RWMutex
	promise promise
	catalog catalog
	asOf    time.Time
	have    map[Hash]struct{}
	named   map[Hash]struct{} // chunks of the catalog
	offered map[Hash]struct{} // chunks of the catalog in transit; nil: none
	pins    map[Hash]int      // uses of chunks that are read, written or sent
	dirty   bool              // chunks were placed since their folder was last synced
	broken  error             // why the store takes nothing more; nil: it does
}

// Open opens a folder, or makes it. It returns ErrInUse if another process has it open, a
// *[FolderError] if it is not a store's, and ErrDamaged if its promise or catalog is not as
// written. The damaged files stay, since forgetting a promise is worse than not starting.
func Open(dir string) (*Store, error) { return open(disk{dir: dir}) }

func open(d disk) (*Store, error) {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	if err := d.refuseForeign(); err != nil {
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

// promiseJSON is a promise on the disk, where a tenure is called reign.
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
			return fmt.Errorf("%w: the epoch of %s was never promised", ErrDamaged, catalogFile)
		}
		if info, err := os.Stat(s.disk.path(catalogFile)); err == nil {
			s.asOf = info.ModTime() // when it was last known to be the leader's
		}
	}
	s.promise.Held, s.named = s.catalog.Version(), s.catalog.chunks()
	s.have, err = s.disk.chunks()
	s.dirty = len(s.have) > 0 // a process may have been killed before it synced them
	return err
}

// Close releases the folder to other processes. Content that is open stays readable.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.fail(ErrClosed)
	return s.lock.Close()
}

// fail refuses all further writes, since it is unclear what is on the disk.
func (s *Store) fail(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = why
	}
}

// doubt returns why the store takes nothing more until it is reopened, or nil.
func (s *Store) doubt() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.broken
}

func (s *Store) promised() promise {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.promise
}

// latest returns the last complete catalog and when it was last known to be the leader's.
func (s *Store) latest() (catalog, time.Time) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.catalog, s.asOf
}

// whole reports whether no chunk of the catalog is missing.
func (s *Store) whole() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.missingOf(s.catalog, 1)) == 0
}

// missingOf lists up to most missing chunks, in the order of names. The caller holds mu.
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
