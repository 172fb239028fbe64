package chunksync

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// storedAtOnce is how many chunks of one upload are written and synced side by side.
const storedAtOnce = 4

// buffer has room for one chunk and for the byte that makes it too long.
type buffer [ChunkSize + 1]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func takeBuffer() *buffer {
	b, _ := buffers.Get().(*buffer)
	return b
}

// addContent cuts content into chunks and stores them, in no catalog yet. They are pinned
// until unpin is called, also after an error.
func (s *Store) addContent(content io.Reader, most int64) (f File, unpin func(), err error) {
	var storing sync.WaitGroup
	failed := make(chan error, storedAtOnce)
	slots := make(chan struct{}, storedAtOnce)
	for err == nil {
		slots <- struct{}{}
		b := takeBuffer()
		var n int
		n, err = fillUp(content, b[:ChunkSize])
		if f.Size += int64(n); f.Size > most {
			err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
		}
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			buffers.Put(b)
			break
		}
		h := hashOf(b[:n])
		s.pinOne(h)
		f.Chunks = append(f.Chunks, h)
		storing.Go(func() {
			if err := s.add(h, b[:n]); err != nil {
				select {
				case failed <- err:
				default: // another one is told
				}
			}
			buffers.Put(b)
			<-slots
		})
		if len(failed) > 0 {
			break
		}
	}
	storing.Wait()
	if len(failed) > 0 {
		err = <-failed
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return f, sync.OnceFunc(func() { s.unpin(f.Chunks) }), err
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
