package core

import (
	"reflect"
	"time"
)

// File is the crons of a configuration file. Each node has one, and they differ while a new one is rolled out.
type File struct {
	Version int64
	Node    string    // whose file it is
	Started time.Time // when its node has, by the database's clock
	Crons   []Definition
	Hold    bool // after a restore nothing is taken until somebody says so
}

// Replaces reports whether a file counts instead of another one. Who leads does not matter: in a rolling deployment an old node may.
func (f File) Replaces(version int64, started time.Time) bool {
	return f.Version > version || f.Version == version && started.Before(f.Started)
}

// Living is a cron that is not retired, by its newest revision.
type Living struct {
	ID int64
	Definition
	Filed bool // a file has declared it
}

// Change is a revision that a file asks for. A cron without an id is a new one: that of a retired cron never comes again.
type Change struct {
	ID int64
	Definition
	Retired bool
}

// Changes lists what a file asks for. A cron that a user has paused stays so.
func (f File) Changes(living []Living) (all []Change) {
	is := map[string]Living{}
	for _, l := range living {
		is[l.Name] = l
	}
	named := map[string]bool{}
	for _, want := range f.Crons {
		named[want.Name] = true
		have, lives := is[want.Name]
		want.Paused = want.Paused || lives && have.Paused
		if !lives || !reflect.DeepEqual(want, have.Definition) {
			all = append(all, Change{ID: have.ID, Definition: want})
		}
	}
	for _, l := range living {
		if l.Filed && !named[l.Name] {
			all = append(all, Change{ID: l.ID, Definition: l.Definition, Retired: true})
		}
	}
	return all
}
