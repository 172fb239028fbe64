package chunksync

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"sync"
)

// pieceSize is how much is read, hashed and written at a time. It is little enough to stay in
// the cache of a processor: to write what has to come from the memory again costs twice as much.
const pieceSize = 64 << 10

var buffers = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// draft is a file that has no name in the store yet. It is placed or discarded once.
type draft struct {
	file  *os.File
	size  int64
	hash  Hash
	ended error // how its reader ended: with io.EOF or another error; nil: there may be more
}

// draft writes up to most bytes of a reader. Its error is the disk's.
func (d disk) draft(from io.Reader, most int64) (f draft, err error) {
	err = d.do("create", newFolder, func() error {
		f.file, err = os.CreateTemp(d.path(newFolder), draftName+"*")
		return err
	})
	if err != nil {
		return f, err
	}
	if err = d.do("write", newFolder, func() error { return f.fill(from, most) }); err != nil {
		f.discard()
	}
	return f, err
}

func (f *draft) fill(from io.Reader, most int64) error {
	piece, _ := buffers.Get().(*[pieceSize]byte)
	defer buffers.Put(piece)
	sum := sha256.New()
	for f.size < most && f.ended == nil {
		var n int
		n, f.ended = fillUp(from, piece[:min(pieceSize, most-f.size)])
		f.size += int64(n)
		_, _ = sum.Write(piece[:n]) // it never fails
		if _, err := f.file.Write(piece[:n]); err != nil {
			return err
		}
	}
	f.hash = Hash(sum.Sum(nil))
	return nil
}

// discard removes the file, or else the next start does.
func (f *draft) discard() {
	_ = f.file.Close()
	_ = os.Remove(f.file.Name())
}

// sync makes the content of a draft durable. Without it a crash of the machine could leave the
// final name with other bytes.
func (d disk) sync(f draft) error {
	err := d.do("sync", newFolder, f.file.Sync)
	if err = errors.Join(err, f.file.Close()); err != nil {
		f.discard()
	}
	return err
}

// place renames a draft atomically: the name has the old file or the new one.
func (d disk) place(f draft, parts ...string) error {
	to := d.path(parts...)
	return d.do("rename", parts[len(parts)-1], func() error { return os.Rename(f.file.Name(), to) })
}

// fillUp reads until the buffer is full or the reader ends. Unlike io.ReadFull, it keeps
// io.EOF apart from a broken connection, since half an upload is not a file.
func fillUp(from io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = from.Read(buffer[n:])
		n += more
	}
	return n, err
}
