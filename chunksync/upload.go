package chunksync

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// addContent cuts content into chunks and stores them, in no catalog yet. They are pinned
// until unpin is called, also after an error.
func (s *Store) addContent(content io.Reader, most int64) (f File, unpin func(), err error) {
	var pinned []Hash
	unpin = sync.OnceFunc(func() { s.unpin(pinned) })
	buffer := make([]byte, ChunkSize)
	for {
		n, err := fillUp(content, buffer)
		over := errors.Is(err, io.EOF)
		if err != nil && !over {
			return f, unpin, err
		}
		if n > 0 {
			h := hashOf(buffer[:n])
			s.pinOne(h)
			pinned = append(pinned, h)
			if f.Size += int64(n); f.Size > most {
				return f, unpin, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
			}
			if err := s.add(h, buffer[:n]); err != nil {
				return f, unpin, err
			}
			f.Chunks = append(f.Chunks, h)
		}
		if over {
			return f, unpin, nil
		}
	}
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
