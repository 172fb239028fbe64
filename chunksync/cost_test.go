package chunksync

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/storytest"
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

var update = flag.Bool("update", false, "rewrite the stories with what the machine does")

// S22: the stories in testdata. A line is an input, the indented lines after it are the
// actions that follow. A letter stands for a chunk, epoch.seq for a version.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		set := settings{Grace: time.Second, Repair: 10 * time.Second, RetryMin: time.Second, RetryMax: 4 * time.Second, Parallel: 2}
		var m *machine
		now := fence.Instant(time.Hour)
		return func(line string) (done []string) {
			words := strings.Fields(line)
			switch words[0] {
			case "peers": // peers a b copies 1
				set.Peers, set.Copies = words[1:len(words)-2], whole(t, words[len(words)-1])
				m = newMachine(set)
				return nil
			case "wait":
				d, err := time.ParseDuration(words[1])
				if err != nil {
					t.Fatal(err)
				}
				now = now.Add(d)
				words = []string{"tick"}
			case "holders":
				return []string{fmt.Sprint(m.Holders(versionNamed(t, words[1])))}
			}
			for _, a := range m.Step(now, parseInput(t, words)) {
				done = append(done, say(a))
			}
			return done
		}
	})
}

func whole(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func versionNamed(t *testing.T, text string) Version {
	t.Helper()
	epoch, seq, _ := strings.Cut(text, ".")
	return Version{int64(whole(t, epoch)), int64(whole(t, seq))}
}

func parseInput(t *testing.T, words []string) input {
	t.Helper()
	switch words[0] {
	case "begin":
		return begin{versionNamed(t, words[1])}
	case "promised":
		return promised{Peer: words[1], Held: versionNamed(t, words[2])}
	case "damaged":
		return promised{Peer: words[1], Held: versionNamed(t, words[2]), Damaged: true}
	case "adopted":
		return adopted{versionNamed(t, words[1])}
	case "unadopted":
		return unadopted{Peer: words[1]}
	case "changed":
		return changed{versionNamed(t, words[1])}
	case "missing":
		in := lacking{Peer: words[1]}
		for _, name := range words[2:] {
			in.Chunks = append(in.Chunks, Hash{name[0]})
		}
		return in
	case "took":
		return took{words[1], versionNamed(t, words[2])}
	case "sent":
		return sent{words[1]}
	case "failed":
		return failed{Peer: words[1], Jitter: 1}
	case "deposed":
		return deposed{}
	case "tick":
		return tick{}
	}
	t.Fatalf("%q is not an input", words)
	return nil
}

func say(a action) string {
	switch a := a.(type) {
	case ask:
		return "ask " + a.Peer
	case adopt:
		if a.Peer == "" {
			return "adopt own " + a.Version.String()
		}
		return "adopt " + a.Peer + " " + a.Version.String()
	case offer:
		return "offer " + a.Peer + " " + a.Version.String()
	case send:
		return "send " + a.Peer + " " + string(a.Chunk[:1])
	case resign:
		return "resign"
	}
	return fmt.Sprintf("%T", a)
}
