package keeper_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// full returns a pipe that takes nothing more: its reader has stopped to read.
func full(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer = pipe(t)
	fd := int(writer.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{4096, 1} {
		for junk := []byte(strings.Repeat("\n", size)); ; {
			if _, err := unix.Write(fd, junk); err != nil {
				break
			}
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	return reader, writer
}

func pipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = reader.Close(), writer.Close() })
	return reader, writer
}

// deposes ends the sessions that hold locks, so that who leads has something to log and leads anew.
func deposes(t *testing.T, db *pgtest.DB) {
	t.Helper()
	const terminate = `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	if _, err := db.Connect(t).Exec(t.Context(), terminate); err != nil {
		t.Fatal(err)
	}
}

// Whatever is wrong with the reader of the log, conch leads on, ends in order, and releases.
func TestALogWithoutAReader(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]func(*testing.T) *os.File{
		"its reader is gone": func(t *testing.T) *os.File {
			t.Helper()
			reader, writer := pipe(t)
			_ = reader.Close()
			return writer
		},
		"its reader has stopped": func(t *testing.T) *os.File {
			t.Helper()
			_, writer := full(t)
			return writer
		},
		"its disk is full": func(t *testing.T) *os.File {
			t.Helper()
			file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			return file
		},
		"its terminal has hung up": func(t *testing.T) *os.File {
			t.Helper()
			s := newScreen(t)
			_ = s.master.Close()
			return s.line
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			cmd := sh(t, db, `echo "epoch $CONCH_EPOCH"; exec sleep 1000`, "--log-level", "info", "--lease", "3s")
			cmd.Stderr = log(t)
			p := begin(t, cmd)
			p.says("epoch 1")
			deposes(t, db)
			p.says("epoch 2")
			p.send(unix.SIGTERM)
			if code := p.end(); code != 143 {
				t.Errorf("exit code %d, want 143", code)
			}
			if got := events(t, db); !strings.HasSuffix(got, "released") {
				t.Errorf("history: got %s, want released at the end", got)
			}
		})
	}
}
