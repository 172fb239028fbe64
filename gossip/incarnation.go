package gossip

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/internal/durable"
)

// An incarnation is a number of starts, or the milliseconds since 1970 if these are more, and chance: two hosts with
// one key, or a restored disk, do not draw the same.
const chanceBits = 20

// incarnate returns the incarnation of this start: above those of all starts before that the file knows of. It is stored
// before it is used. Without a file it is above those of all starts by the same wall clock; so it is on a disk that takes nothing more:
// unstored says so. If the next start is by an older clock then, what the node says is left out until its neighbours have told it what it
// has said now.
func incarnate(file string, wall time.Time, write func(string, uint64) error) (next uint64, unstored, err error) {
	start := uint64(max(wall.UnixMilli(), 1))
	if file != "" {
		last, err := readIncarnation(file)
		if err != nil {
			return 0, nil, err
		}
		start = max(start, last>>chanceBits+1)
	}
	if start >= 1<<(64-chanceBits)-1 {
		return 0, nil, fmt.Errorf("gossip: %s has a number that leaves no room for another start: remove it, and the clock makes the next one", file)
	}
	next = start<<chanceBits | draw()>>(64-chanceBits)
	if file != "" {
		err := write(file, next)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) {
			return next, err, nil
		}
		if err != nil {
			return 0, nil, fmt.Errorf("gossip: the incarnation cannot be stored: %w", err)
		}
	}
	return next, nil, nil
}

// readIncarnation returns 0 if there is no file.
func readIncarnation(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("gossip: the incarnation cannot be read: %w", err)
	}
	last, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("gossip: %s is damaged: it has one number, of this node's last start. Remove it, and the clock makes the next one", file)
	}
	return last, nil
}

// writeIncarnation has the number on the disk before it returns. A host that loses its power would else start with one that it has had.
func writeIncarnation(file string, incarnation uint64) error {
	return durable.Replace(file, fmt.Appendln(nil, incarnation))
}

// draw returns 64 random bits.
func draw() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
