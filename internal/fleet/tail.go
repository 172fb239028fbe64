package fleet

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// Tail reads what processes append to files. The zero value has read nothing.
type Tail struct{ read map[string]int64 } // bytes, by file

// Follow passes on each whole line that a file has got since it was followed before, without its end. A file that is not there yet has
// none; a line that is not taken comes again.
func (t *Tail) Follow(path string, take func(line []byte) error) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(t.read[path], io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if t.read == nil {
		t.read = map[string]int64{}
	}
	for {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			return nil
		}
		if err := take(line); err != nil {
			return err
		}
		t.read[path] += int64(len(line)) + 1
		text = rest
	}
}
