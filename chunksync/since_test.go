package chunksync

import (
	"fmt"
	"testing"
)

// The earliest seq from which the changes are known is exact: from there each write is named, and from
// one before there is a write that is not kept any more. A peer would never get it.
func TestTheEarliestChange(t *testing.T) {
	t.Parallel()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	leader := Tenure{Epoch: 1}
	s.apply(difference(catalog{}, catalog{Tenure: leader}))
	name := func(seq int64) string { return fmt.Sprint("f", seq) }
	for range 2*recentWrites + 2 { // so that some were just dropped
		s.apply(s.catalog.write(name(s.catalog.Seq+1), &File{}))
	}
	if s.since == 0 {
		t.Fatal("no write was dropped: this test is blind")
	}
	for seq := s.since - 2; seq < s.since+3; seq++ {
		by, known := s.changeSince(seq)
		if known != (seq >= s.since) {
			t.Errorf("since %d: known %v, and all are kept after %d", seq, known, s.since)
		}
		if _, first := by.Files[name(seq+1)]; known && (!first || len(by.Files) != int(s.catalog.Seq-seq)) {
			t.Errorf("since %d: got %d files, the first of them %v, want all %d", seq, len(by.Files), first, s.catalog.Seq-seq)
		}
	}
}

// A new leader knows its own changes from its first catalog on, whatever it has followed before.
func TestTheChangesOfANewLeader(t *testing.T) {
	t.Parallel()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	s.apply(difference(catalog{}, catalog{Tenure: Tenure{Epoch: 1}, Seq: 9}))
	for _, name := range []string{"a", "b"} {
		s.apply(s.catalog.write(name, &File{}))
	}
	s.apply(difference(s.catalog, catalog{Tenure: Tenure{Epoch: 2}, Files: s.catalog.after(change{}).Files}))
	s.apply(s.catalog.write("c", &File{}))
	if by, known := s.changeSince(0); !known || len(by.Files) != 1 {
		t.Errorf("got %d files, known %v, want the one that the new leader has written", len(by.Files), known)
	}
}
