package live

import (
	"maps"
	"slices"
	"strings"
)

// mostGone is how many scopes that are no more are remembered for viewers that resume.
const mostGone = 10_000

// Set is the newest reading of all scopes, with the version at which each row changed last. The zero Set is empty, at version 0.
type Set struct {
	version uint64
	floor   uint64 // what is gone since an older version is not known any more
	rows    map[string]versioned
	gone    map[string]uint64
}

type versioned struct {
	Row
	at uint64
}

// Change is what a viewer needs that has the rows of an older version. To take it twice does no harm.
type Change struct {
	Version uint64   `json:"version"`
	Rows    []Row    `json:"rows"`
	Gone    []string `json:"gone"`
}

// Version counts the readings that differed from the one before.
func (s *Set) Version() uint64 { return s.version }

// Take takes a reading in, and reports whether it differs from the one before.
func (s *Set) Take(rows []Row) (changed bool) {
	next := make(map[string]versioned, len(rows))
	for _, r := range rows {
		was, known := s.rows[r.Scope]
		at := was.at
		if !known || !was.same(r) {
			at, changed = s.version+1, true
			delete(s.gone, r.Scope)
		}
		next[r.Scope] = versioned{r, at}
	}
	for scope := range s.rows {
		if _, there := next[scope]; !there {
			if s.gone == nil {
				s.gone = map[string]uint64{}
			}
			s.gone[scope], changed = s.version+1, true
		}
	}
	s.rows = next
	if changed {
		s.version++
	}
	if len(s.gone) > mostGone {
		s.gone, s.floor = map[string]uint64{}, s.version
	}
	return changed
}

// Since returns what has changed after a version; known is false if that cannot be told, and the viewer has to read all rows.
func (s *Set) Since(version uint64) (c Change, known bool) {
	c = Change{Version: s.version, Rows: []Row{}, Gone: []string{}}
	if version < s.floor || version > s.version {
		return c, false
	}
	for _, r := range s.rows {
		if r.at > version {
			c.Rows = append(c.Rows, r.Row)
		}
	}
	for scope, at := range s.gone {
		if at > version {
			c.Gone = append(c.Gone, scope)
		}
	}
	slices.SortFunc(c.Rows, func(a, b Row) int { return strings.Compare(a.Scope, b.Scope) })
	slices.Sort(c.Gone)
	return c, true
}

// Rows returns all rows, in scope order.
func (s *Set) Rows() []Row {
	rows := make([]Row, 0, len(s.rows))
	for _, scope := range slices.Sorted(maps.Keys(s.rows)) {
		rows = append(rows, s.rows[scope].Row)
	}
	return rows
}
