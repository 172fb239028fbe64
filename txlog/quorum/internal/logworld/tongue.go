package logworld

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
)

// Machine is a state machine that a log of this world may have: the one that ships, and how its goals are written. The world asks
// for values of keys, whatever they are there.
type Machine struct {
	Name    string // of the flag and in stories
	Genesis string // in the genesis
	New     func() txlog.State
	Stories fs.FS // that are its own, or nil

	Put    func(key string, value int) []byte
	Cas    func(key string, expected, value int) []byte // fails if the key has another value
	Add    func(key string) []byte                      // 1 to what the key has, or to 0
	Delete func(key string) []byte
	Mail   func(client string, count int) []byte // wants something done outside
	Get    func(key string) []byte               // a query, which answers too if the key was never put
}

// ofKeys is the usual machine.
var ofKeys = Machine{
	Name: "kv", Genesis: kv.Machine, New: func() txlog.State { return withMail{kv.New()} },
	Put: putGoal,
	Cas: func(key string, expected, value int) []byte {
		return fmt.Appendf(nil, `{"op":"cas","key":%q,"expect":%d,"value":%d}`, key, expected, value)
	},
	Add:    func(key string) []byte { return fmt.Appendf(nil, `{"op":"add","key":%q,"by":1}`, key) },
	Delete: func(key string) []byte { return fmt.Appendf(nil, `{"op":"delete","key":%q}`, key) },
	Mail:   func(client string, count int) []byte { return putGoal(mailKey+client, count) },
	Get:    func(key string) []byte { return fmt.Appendf(nil, `{"get":%q}`, key) },
}

func putGoal(key string, value int) []byte {
	return fmt.Appendf(nil, `{"op":"put","key":%q,"value":%d}`, key, value)
}

// machine returns the state machine of a configuration; false: there is none of its name.
func (c Config) machine() (Machine, bool) {
	all := append([]Machine{ofKeys}, c.more...)
	i := slices.IndexFunc(all, func(m Machine) bool { return m.Name == cmp.Or(c.Machine, ofKeys.Name) })
	if i < 0 {
		return Machine{}, false
	}
	return all[i], true
}

// machineNames lists those that there are.
func (c Config) machineNames() string {
	names := []string{ofKeys.Name}
	for _, m := range c.more {
		names = append(names, m.Name)
	}
	return strings.Join(names, " or ")
}

// shelves are stories of several places.
type shelves []fs.FS

// Open implements fs.FS.
func (s shelves) Open(name string) (f fs.File, err error) {
	for _, one := range s {
		if f, err = one.Open(name); err == nil {
			return f, nil
		}
	}
	return nil, err
}

// ReadDir implements fs.ReadDirFS: it lists those of all places.
func (s shelves) ReadDir(name string) (all []fs.DirEntry, err error) {
	for _, one := range s {
		some, err := fs.ReadDir(one, name)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
