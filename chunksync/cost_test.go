package chunksync

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// countWrites counts the bytes that the node's disk is given: the drafts and the lines of the log.
// It may only be called while nothing else is written.
func (s *Store) countWrites() *atomic.Int64 {
	var sum, log atomic.Int64
	log.Store(s.log)
	s.disk.trip = func(op, name string) error {
		switch {
		case op == "sync" && name == newFolder:
			_ = filepath.WalkDir(s.disk.path(newFolder), func(_ string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					if info, err := d.Info(); err == nil { // otherwise it was just placed
						sum.Add(info.Size())
					}
				}
				return nil
			})
		case op == "sync" && name == catalogFile:
			if info, err := os.Stat(s.disk.path(catalogFile)); err == nil {
				sum.Add(info.Size() - log.Load())
				log.Store(info.Size())
			}
		case op == "rename" && name == catalogFile:
			log.Store(0) // its draft is counted already
		case op == "syncdir" && log.Load() == 0:
			if info, err := os.Stat(s.disk.path(catalogFile)); err == nil {
				log.Store(info.Size())
			}
		}
		return nil
	}
	return &sum
}

// filled puts many files into the store at once, as a leader's first catalog.
func (n *node) filled(many int) {
	n.t.Helper()
	one := []byte("1")
	files := map[string]File{}
	for i := range many {
		files[fmt.Sprintf("with-a-name-of-some-length/%06d", i)] = File{Size: 1, Chunks: []Hash{hashOf(one)}}
	}
	unpin := n.store.pin(hashOf(one))
	defer unpin()
	if err := n.store.add(one); err != nil {
		n.t.Fatal(err)
	}
	if _, _, err := n.store.take(catalog{Tenure: tenureOf(tokenOf(1, "n1")), Files: files}, "n1", false); err != nil {
		n.t.Fatal(err)
	}
}

// What is written and sent for a small file does not grow with the number of files.
func TestWhatAPutCosts(t *testing.T) {
	t.Parallel()
	const puts = 20
	cost := func(files int) (written, sent int64) {
		tm := newPatientTeam(t, 2, new(1), 2*patience)
		one, two := tm.nodes[0], tm.nodes[1]
		one.m.cfg.Repair, two.m.cfg.Repair = patience, patience // no offers in between
		one.filled(files)
		one.lead(2)
		one.mustPut("first", []byte("0"), 1)
		leaders, followers, asked := one.store.countWrites(), two.store.countWrites(), two.countOffers()
		for i := range puts {
			one.mustPut(fmt.Sprint("f", i), []byte(fmt.Sprint("content of ", i)), 1)
		}
		return (leaders.Load() + followers.Load()) / puts, asked.bytes.Load() / puts
	}
	written, sent := cost(10)
	writtenMore, sentMore := cost(5000)
	t.Logf("a put writes %d bytes to both disks and sends %d among 10 files, %d and %d among 5000", written, sent, writtenMore, sentMore)
	if written < 100 || sent < 100 {
		t.Fatalf("a put writes %d bytes and sends %d: this test is blind", written, sent)
	}
	if writtenMore > written+100 || sentMore > sent+100 {
		t.Errorf("a put writes %d bytes and sends %d among 5000 files, want %d and %d, as among 10", writtenMore, sentMore, written, sent)
	}
}

// A log is begun anew now and then. What that writes is at most what the lines before it wrote.
func TestWhatALogCosts(t *testing.T) {
	t.Parallel()
	for _, files := range []int{1, 300} {
		n := newTeam(t, 1, nil).nodes[0]
		n.filled(files)
		s := n.store
		anew, lines, began := 0, int64(0), s.log
		for i := range 600 {
			before := s.log
			name := strings.Repeat("x", 400) + fmt.Sprint(i%10)
			if _, _, err := s.follow(s.catalog.write(name, &File{}), "n1", false); err != nil {
				t.Fatal(err)
			}
			if s.log > before {
				lines += s.log - before
				continue
			}
			if anew++; s.log > lines {
				t.Errorf("%d files: a log of %d bytes was begun after lines of %d, want no more", files, s.log, lines)
			}
			lines = 0
		}
		if anew == 0 || s.log > 3*began+2*leastLog {
			t.Errorf("%d files: the log was begun anew %d times and has %d bytes", files, anew, s.log)
		}
	}
}
