package chunksync

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// The log of the catalog is a file of lines. Each is a CRC-32C in 8 hexadecimal digits, a
// space, and JSON: on the first line a whole catalog, then the changes since. A line is
// synced before its version is acknowledged and before another one follows.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumLength = 9 // with the space

// line returns a line of the log.
func line(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, "%08x ", crc32.Checksum(text, castagnoli)), append(text, '\n')...), nil
}

// parseLog reads a log. torn says that the last line is one whose writing was interrupted: its
// version was never acknowledged, and the log ends before it. All other faults are errors,
// since what they hide may have been acknowledged.
func parseLog(text []byte) (c catalog, torn bool, err error) {
	for number := 1; len(text) > 0 || number == 1; number++ {
		one, rest, ended := bytes.Cut(text, []byte{'\n'})
		if number > 1 && interrupted(one, len(rest), ended) {
			return c, true, nil
		}
		if !ended {
			return c, false, errors.New("the catalog has no end") // it was synced before it got its name
		}
		if c, err = c.readLine(one, number); err != nil {
			return c, false, fmt.Errorf("line %d: %w", number, err)
		}
		text = rest
	}
	return c, false, nil
}

// interrupted reports whether a line, with so many bytes after it, can be a write that a
// crash has cut off. Such a line is the last one, and it has no end or holes: JSON has no
// zero bytes, and a block that was not written is read as zeros. A complete line with a wrong
// checksum was changed later, also if one bit has made a zero of a space, or has taken its end.
func interrupted(one []byte, after int, ended bool) bool {
	if !ended {
		last := len(one) - 1
		return one[last] == 0 || !sound(one[:last])
	}
	if after > 0 {
		return false
	}
	switch at := bytes.IndexByte(one, 0); bytes.Count(one, []byte{0}) {
	case 0:
		return false
	case 1:
		return !soundWithABit(one, at)
	}
	return true
}

// soundWithABit reports whether one bit of a byte makes the line what it was.
func soundWithABit(one []byte, at int) bool {
	once := bytes.Clone(one)
	for bit := byte(1); bit != 0; bit <<= 1 {
		if once[at] = one[at] ^ bit; sound(once) {
			return true
		}
	}
	return false
}

// sound reports whether a line without its end has the right checksum.
func sound(one []byte) bool {
	return len(one) >= sumLength && string(one[:sumLength]) == fmt.Sprintf("%08x ", crc32.Checksum(one[sumLength:], castagnoli))
}

func (c catalog) readLine(one []byte, number int) (catalog, error) {
	if !sound(one) {
		return c, errors.New("its checksum is wrong")
	}
	if number == 1 {
		return parseCatalog(one[sumLength:])
	}
	by, err := parseChange(one[sumLength:])
	if err != nil {
		return c, err
	}
	if !by.follows(c) || by.From != c.Seq {
		return c, fmt.Errorf("it leads from %d to %s, and the line before it to %s", by.From, by.Version(), c.Version())
	}
	by.apply(&c)
	return c, nil
}
