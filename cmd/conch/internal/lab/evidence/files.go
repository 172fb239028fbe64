package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Lines appends JSON lines to a file that several processes append to. Each line is one
// write, so that a killed process leaves a whole line or none; see [Decode].
type Lines struct{ file *os.File }

// OpenLines opens the file and creates it if needed.
func OpenLines(path string) (*Lines, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Lines{file: file}, nil
}

// Append writes one line.
func (l *Lines) Append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

// Close closes the file.
func (l *Lines) Close() error { return l.file.Close() }

// ReadActs reads an outside file; a missing file has no acts.
func ReadActs(path string) ([]Act, error) { return readLines[Act](path) }

// ReadAcks reads all acknowledgement files in a folder.
func ReadAcks(dir string) ([]Ack, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+ackSuffix))
	if err != nil {
		return nil, err
	}
	var all []Ack
	for _, path := range paths {
		acks, err := readLines[Ack](path)
		if err != nil {
			return nil, err
		}
		all = append(all, acks...)
	}
	return all, nil
}

const ackSuffix = ".acks"

// AckFile returns the path of a node's acknowledgement file.
func AckFile(dir, node string) string { return filepath.Join(dir, node+ackSuffix) }

// OutsideFile returns the path of the outside file.
func OutsideFile(dir string) string { return filepath.Join(dir, "outside.acts") }

// Decode reads one line. The kernel writes a line page by page, so a writer killed in the
// middle of one may leave its beginning, and the next writer continues on the same line.
// Decode ignores such a beginning.
func Decode(line []byte, v any) error {
	err := json.Unmarshal(line, v)
	if at := bytes.LastIndexByte(line, '{'); err != nil && at > 0 && json.Unmarshal(line[at:], v) == nil {
		return nil
	}
	return err
}

// readLines reads JSON lines. It ignores text after the last line end, which a kill cut off.
// Any other unreadable line is an error, since evidence with gaps proves nothing.
func readLines[T any](path string) ([]T, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []T
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			return out, nil
		}
		var v T
		if err := Decode(line, &v); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", filepath.Base(path), n, err)
		}
		out, text = append(out, v), rest
	}
}
