package main_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// A node leads on when the reader of its log is gone, reaps a child that is not its own, and gives a command the user and
// the database that its role names.
func TestANodeWithoutAReaderOfItsLog(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	db := migrated(t)
	d := prepareDaemon(t, "n1", db.URL, "[election]\nlease = \"3s\"\n[[roles]]\nname = \"a\"\nuser = \"4242\"\ncmd_db = \"none\"\n"+
		"command = ['sh', '-c', 'echo \"at work $CONCH_EPOCH as $(id -u) with <$CONCH_DB_URL>\"; exec sleep 1000']\n")
	cmd := prepared(t, "node", "--config", d.file)
	cmd.Args = append([]string{"sh", "-c", `trap '' INT; sleep 1000 & echo "left $!"; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	cmd.Stderr = writer
	p := proctest.Listen(t, cmd)
	_ = writer.Close()
	left := strings.Fields(p.Says(patience, "left"))[1]
	p.Says(patience, "at work 1 as 4242 with <>")
	const terminate = `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	if _, err := db.Connect(t).Exec(t.Context(), terminate); err != nil {
		t.Fatal(err)
	}
	p.Says(patience, "at work 2 as 4242 with <>")
	if out, err := proctest.Output(t, exec.Command("sh", "-c", "kill -9 "+left), patience); err != nil {
		t.Fatal(err, out)
	}
	pgtest.Eventually(t, patience, "the child that is not the node's is reaped", func() bool {
		_, err := os.Stat("/proc/" + left)
		return os.IsNotExist(err)
	})
	p.Signal(syscall.SIGINT) // ignored from the start
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(patience); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
