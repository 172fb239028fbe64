package chunksync

import (
	"encoding/json"
	"fmt"
	"maps"
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

	log   int64 // size of the log; 0: it cannot be extended
	begun int64 // its size when it was begun

	mu      sync.RWMutex
	promise promise
	catalog catalog
	asOf    time.Time
	room    int               // bytes of the catalog's files when encoded
	recent  []touch           // the latest writes of the catalog's tenure
	since   int64             // recent has all writes after this seq
	have    map[Hash]struct{} // chunks on the disk
	named   map[Hash]int      // uses of each chunk in the catalog
	lost    map[Hash]struct{} // chunks that are named and not on the disk
	stray   map[Hash]struct{} // chunks that are on the disk and not named
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
	s := &Store{
		disk: d, lock: lock, pins: map[Hash]int{}, named: map[Hash]int{},
		lost: map[Hash]struct{}{}, stray: map[Hash]struct{}{},
	}
	if err := s.load(); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return s, nil
}

// promiseJSON is a promise on the disk and on the wire, where a tenure is called reign.
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
	found, err := s.loadCatalog()
	if err != nil {
		return err
	}
	if found.Tenure.Epoch > s.promise.Tenure.Epoch {
		return fmt.Errorf("%w: the epoch of %s was never promised", ErrDamaged, catalogFile)
	}
	if s.have, err = s.disk.chunks(); err != nil {
		return err
	}
	for h := range s.have {
		s.sort(h)
	}
	s.apply(difference(catalog{}, found))
	s.recent, s.since = nil, found.Seq
	s.dirty = len(s.have) > 0 // a process may have been killed before it synced them
	return nil
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

// latest returns a copy of the last complete catalog, and when it was last known to be the
// leader's.
func (s *Store) latest() (catalog, time.Time) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := s.catalog
	c.Files = maps.Clone(c.Files)
	return c, s.asOf
}

// look returns one file of the catalog, and the catalog without its files.
func (s *Store) look(name string) (now catalog, f File, there bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, there = s.catalog.Files[name]
	return catalog{Tenure: s.catalog.Tenure, Seq: s.catalog.Seq}, f, there
}

// whole reports whether no chunk of the catalog is missing.
func (s *Store) whole() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.lost) == 0
}

// names reports whether the catalog names a chunk.
func (s *Store) names(h Hash) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.named[h] > 0
}
