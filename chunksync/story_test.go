package chunksync

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/storytest"
)

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
