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

// Lines appends JSON lines to a file that other processes append to as well.
// Each line is one write: a process that is killed leaves a whole line or none.
type Lines struct{ file *os.File }

// OpenLines opens the file, making it if need be.
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

// ReadActs reads an outside file, nothing if it does not exist.
func ReadActs(path string) ([]Act, error) { return readLines[Act](path) }

// ReadAcks reads all acknowledgement files of a folder.
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

// AckFile names the acknowledgement file of a node in a folder.
func AckFile(dir, node string) string { return filepath.Join(dir, node+ackSuffix) }

// OutsideFile names the file of the acts outside in a folder.
func OutsideFile(dir string) string { return filepath.Join(dir, "outside.acts") }

// Decode reads one line. Of a writer that was killed in the middle of a line, which
// the kernel writes page by page, the beginning may be left, and the next writer's
// line follows it without a line end: the beginning counts as never written.
func Decode(line []byte, v any) error {
	err := json.Unmarshal(line, v)
	if at := bytes.LastIndexByte(line, '{'); err != nil && at > 0 && json.Unmarshal(line[at:], v) == nil {
		return nil
	}
	return err
}

// readLines reads JSON lines. What follows the last line end was cut off by a
// kill and counts as never written, as in Decode; anything else that cannot be read is an
// error, since evidence with gaps proves nothing.
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
