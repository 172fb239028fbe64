package chunksync

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// An upload whose connection breaks is not a file, also if the reader says so with an error that
// wraps io.EOF, as a request to another server does.
func TestHalfAnUploadIsNotAFile(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	n.mustPut("f", []byte("whole"), 0)
	broken := fmt.Errorf("the connection broke: %w", io.EOF)
	for _, size := range []int{0, 4, ChunkSize, ChunkSize + 4} {
		half := io.MultiReader(bytes.NewReader(bytesOf(1, size)), iotest.ErrReader(broken))
		if _, err := n.m.Put(t.Context(), "f", half, 0); !errors.Is(err, broken) || !n.has("f", []byte("whole")) {
			t.Errorf("after %d bytes: got %v, and the file as before: %v", size, err, n.has("f", []byte("whole")))
		}
	}
	if _, err := n.m.Put(t.Context(), "g", iotest.DataErrReader(strings.NewReader("with its end")), 0); err != nil || n.chunkCount() != 2 {
		t.Errorf("a reader that ends with its last bytes: got %v, and %d chunks, want 2", err, n.chunkCount())
	}
}

// A chunk that the disk did not take is an error of its upload, also if it is the last one. A node
// without peers ignores what its catalog lacks, so that nothing else would notice it.
func TestAnUploadWhoseLastChunkIsNotStored(t *testing.T) {
	t.Parallel()
	for op, name := range map[string]string{"sync": newFolder, "rename": hashOf([]byte("lost")).String()} {
		n := newTeam(t, 1, nil).nodes[0]
		n.lead(1)
		n.mustPut("f", []byte("whole"), 0)
		n.store.disk.trip = func(what, which string) error {
			if what == op && which == name {
				return errKilled
			}
			return nil
		}
		if err := n.put("f", []byte("lost"), 0); !errors.Is(err, errKilled) || !n.has("f", []byte("whole")) {
			t.Errorf("%s fails: got %v, and the file as before: %v", op, err, n.has("f", []byte("whole")))
		}
	}
}
