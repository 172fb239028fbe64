//go:build !unix

package datadir

import (
	"encoding/json"
	"errors"
)

// ErrTaken means that another node uses the folder.
var ErrTaken = errors.New("another node uses it: wait if that is ending, or name another folder")

// ErrNoNode means that no node uses the folder.
var ErrNoNode = errors.New("no node runs there")

// Dir would be a folder that this process has taken, which needs a Unix.
type Dir struct{}

// Take fails: the folder serves reloads by SIGHUP, which does not exist here.
func Take(string) (*Dir, error) { return nil, errors.New("data_dir needs a Unix: leave it out") }

// Release does nothing.
func (*Dir) Release() {}

// Result is the outcome of a reload.
type Result struct {
	Seq    int64           `json:"seq"`
	Answer json.RawMessage `json:"answer"`
}

// Write does nothing.
func (*Dir) Write(any) error { return nil }

// Read finds nothing.
func Read(string) (Result, error) { return Result{}, ErrNoNode }

// Find finds no node.
func Find(string) (int, error) { return 0, ErrNoNode }
