//go:build linux

package stage

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

// The tests' own peers are this binary under other names. The candidate that locks a file leads.
const (
	honest   = "honest"   // ends when asked to
	lingerer = "lingerer" // releases the lock when asked to end, and goes on
	quitter  = "quitter"  // its second member ends by itself
)

func TestMain(m *testing.M) {
	if peer, is := strings.CutPrefix(filepath.Base(os.Args[0]), "contender-"); is {
		if err := contend(peer, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// contend runs a candidate with the arguments of a part's command.
func contend(peer string, args []string) error {
	given := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		given[args[i]] = args[i+1]
	}
	if peer == quitter && given["--id"] == "node-2" {
		return fmt.Errorf("there is no licence for a second member")
	}
	pace, err := time.ParseDuration(given["--pace"])
	if err != nil {
		return err
	}
	out, err := os.OpenFile(given["--file"], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(given["--file"]+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	told := make(chan os.Signal, 1)
	if peer == lingerer {
		signal.Notify(told, syscall.SIGTERM)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-told:
			if err := lock.Close(); err != nil { // which releases the lock
				return err
			}
			tick.Reset(300 * time.Millisecond)
		case <-tick.C:
			now := fence.Boottime()
			line, err := json.Marshal(act{Node: given["--id"], Start: now, End: now})
			if err != nil {
				return err
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
}
