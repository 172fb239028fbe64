//go:build !unix

package datadir

import (
	"encoding/json"
	"errors"
)

// ErrTaken says that another node uses the folder.
var ErrTaken = errors.New("another node uses it: name another folder")

// ErrNoNode says that no node uses it.
var ErrNoNode = errors.New("no node runs there")

// Dir would be a folder that is this process's; it takes a Unix.
type Dir struct{}

// Take fails: there is no SIGHUP here that it could be for.
func Take(string) (*Dir, error) { return nil, errors.New("data_dir needs a Unix: leave it out") }

// Release does nothing.
func (*Dir) Release() {}

// Result is how a reload went.
type Result struct {
	Seq    int64           `json:"seq"`
	Answer json.RawMessage `json:"answer"`
}

// Write does nothing.
func (*Dir) Write(any) error { return nil }

// Read finds nothing.
func Read(string) (Result, error) { return Result{}, ErrNoNode }

// Find finds nobody.
func Find(string) (int, error) { return 0, ErrNoNode }
