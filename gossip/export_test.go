package gossip

import (
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
)

// NewAt is New with a wall clock that a test has set.
var NewAt = newAt

// ErrRan is what the second Run says.
var ErrRan = errRan

// Seal has a node sign in another way, which is cheaper.
func Seal(c *Config, self Subject, scheme hint.Scheme) { c.self, c.scheme = self, scheme }

// Incarnate is incarnate, on a disk.
func Incarnate(file string, wall time.Time) (uint64, error) {
	next, _, err := incarnate(file, wall, writeIncarnation)
	return next, err
}

// IncarnateFull is incarnate, on a disk that answers each write with an error. It reports whether the start goes on.
func IncarnateFull(file string, wall time.Time, full error) (next uint64, goesOn bool) {
	next, unstored, _ := incarnate(file, wall, func(string, uint64) error { return full })
	return next, unstored != nil
}

// ReadNumber reads the text of a state file.
func ReadNumber(text string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n
}
