package chunksync

import (
	"bufio"
	"fmt"
	"io"
	"sync"
)

// storedAtOnce is how many chunks of one upload are synced while the next is read.
const storedAtOnce = 4

// addContent cuts content into chunks and stores them, in no catalog yet. They are pinned
// until unpin is called, also after an error.
func (s *Store) addContent(content io.Reader, most int64) (f File, unpin func(), err error) {
	var storing sync.WaitGroup
	failed, slots := make(chan error, 1), make(chan struct{}, storedAtOnce)
	rest := bufio.NewReaderSize(content, pieceSize)
	for len(failed) == 0 {
		if _, err = rest.Peek(1); err != nil {
			break // most often io.EOF
		}
		var d draft
		if d, err = s.disk.draft(rest, ChunkSize); err != nil {
			break
		}
		if f.Size += d.size; f.Size > most {
			d.ended = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
		}
		if err = d.ended; err != nil && !isEnd(err) {
			d.discard()
			break
		}
		s.pinOne(d.hash)
		f.Chunks = append(f.Chunks, d.hash)
		slots <- struct{}{}
		storing.Go(func() {
			if err := s.keep(d); err != nil {
				select {
				case failed <- err:
				default: // one is enough
				}
			}
			<-slots
		})
	}
	storing.Wait()
	if len(failed) > 0 {
		err = <-failed
	}
	if isEnd(err) {
		err = nil
	}
	return f, sync.OnceFunc(func() { s.unpin(f.Chunks) }), err
}

// isEnd reports whether a reader has come to its end. An error that wraps io.EOF is none: a reader
// whose own connection breaks may return one.
func isEnd(err error) bool { return err == io.EOF } //nolint:errorlint // see above
