package chunksync

import "maps"

// What a write costs must not grow with the number of files. So the catalog is changed in
// place, and what follows from it is counted with each change. The callers hold mu.

// touch is one write of a file.
type touch struct {
	seq  int64
	name string
}

// recentWrites is how many writes a follower may lack without being sent a whole catalog.
const recentWrites = 4096

// apply makes the catalog what it is at the change's seq.
func (s *Store) apply(by change) {
	anew := by.Tenure != s.catalog.Tenure
	s.room = s.roomAfter(by)
	for _, name := range by.names() {
		s.name(s.catalog.Files[name], -1)
		if f := by.Files[name]; f != nil {
			s.name(*f, 1)
		}
		s.recent = append(s.recent, touch{by.Seq, name})
	}
	by.apply(&s.catalog)
	s.promise.Held = by.Version()
	if excess := len(s.recent) - recentWrites; anew {
		s.recent, s.since = nil, by.Seq
	} else if excess > recentWrites {
		s.since, s.recent = s.recent[excess-1].seq, append([]touch(nil), s.recent[excess:]...)
	}
}

// roomAfter returns what room will be with the change.
func (s *Store) roomAfter(by change) int {
	sum := s.room
	for name, f := range by.Files {
		if old, there := s.catalog.Files[name]; there {
			sum -= room(name, old)
		}
		if f != nil {
			sum += room(name, *f)
		}
	}
	return sum
}

// name counts the uses of a file's chunks.
func (s *Store) name(f File, by int) {
	for _, h := range f.Chunks {
		if s.named[h] += by; s.named[h] == 0 {
			delete(s.named, h)
		}
		s.sort(h)
	}
}

// sort sorts a chunk into lost and stray after it came or went, or got a name or lost it.
func (s *Store) sort(h Hash) {
	_, here := s.have[h]
	mark(s.lost, h, !here && s.named[h] > 0)
	mark(s.stray, h, here && s.named[h] == 0)
}

func mark(set map[Hash]struct{}, h Hash, is bool) {
	if is {
		set[h] = struct{}{}
	} else {
		delete(set, h)
	}
}

// changeSince returns what has changed since an earlier seq of the catalog's tenure. It is
// false if that is unknown, and a whole catalog has to be sent.
func (s *Store) changeSince(seq int64) (c change, known bool) {
	c = change{Tenure: s.catalog.Tenure, From: seq, Seq: s.catalog.Seq, Files: map[string]*File{}}
	if seq < s.since || seq > c.Seq {
		return c, false
	}
	for i := len(s.recent) - 1; i >= 0 && s.recent[i].seq > seq; i-- {
		name := s.recent[i].name
		if f, there := s.catalog.Files[name]; there {
			c.Files[name] = &f
		} else {
			c.Files[name] = nil
		}
	}
	return c, true
}

// missing lists up to most chunks that the catalog lacks with the change, in the order of names,
// after those that it lacks already.
func (s *Store) missing(by change, most int) (missing []Hash) {
	dropped, seen := map[Hash]int{}, map[Hash]struct{}{}
	list := func(h Hash) {
		_, here := s.have[h]
		if _, listed := seen[h]; !here && !listed && len(missing) < most {
			seen[h], missing = struct{}{}, append(missing, h)
		}
	}
	for name := range by.Files {
		for _, h := range s.catalog.Files[name].Chunks {
			dropped[h]++
		}
	}
	for h := range s.lost {
		if s.named[h] > dropped[h] {
			list(h)
		}
	}
	for _, name := range by.names() {
		if f := by.Files[name]; f != nil {
			for _, h := range f.Chunks {
				list(h)
			}
		}
	}
	return missing
}

// chunks returns the chunks of the change, and those that the catalog lacks.
func (s *Store) chunks(by change) map[Hash]struct{} {
	all := maps.Clone(s.lost)
	for _, h := range by.chunks() {
		all[h] = struct{}{}
	}
	return all
}
