package main_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// A node has two commands, and the keeper of one is killed: that command's processes end, its
// role is campaigned for again, and the other command goes on.
func TestAKilledKeeperAmongSeveral(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	roles := "[election]\nlease = \"3s\"\n" // a busy machine may be late with a heartbeat
	for _, name := range []string{"a", "b"} {
		roles += fmt.Sprintf("[[roles]]\nname = %q\ncommand = ['sh', '-c', 'setsid sleep 1000 & echo at work %s $CONCH_EPOCH; exec sleep 1000']\n", name, name)
	}
	n := startDaemon(t, "n1", db.URL, roles)
	n.says("at work a 1")
	n.says("at work b 1")
	killed := below(t, n, "at work a")
	others := below(t, n, "at work b")
	if len(killed) < 3 || len(others) < 3 {
		t.Fatalf("found the processes %+v and %+v, want 3 or more of each", killed, others)
	}
	if err := syscall.Kill(killed[0].pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n.says("leadership released", "scope", "a")
	for _, p := range killed {
		if p.alive() {
			t.Errorf("%+v still runs although its keeper was killed and the scope is released", p)
		}
	}
	n.says("leadership draining", "scope", "a", "reason", "the role ended: the keeper of the command was killed, and the command with it")
	n.says("at work a 2")
	for _, p := range others {
		if !p.alive() {
			t.Errorf("%+v of role b has ended, want only those of role a to end", p)
		}
	}
	if n.count("leadership draining", "scope", "b") > 0 {
		t.Error("role b was given up, want it to go on")
	}
	family := descendants(t, n.cmd.Process.Pid)
	if code := n.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	for _, p := range family {
		if p.alive() {
			t.Errorf("%+v still runs after its node has ended", p)
		}
	}
}

// below returns the keeper of a command that has these arguments, and its descendants.
func below(t *testing.T, n *daemon, arguments string) (found []relative) {
	t.Helper()
	for _, p := range descendants(t, n.cmd.Process.Pid) {
		if p.parent == n.cmd.Process.Pid && strings.Contains(p.command, arguments) {
			found = append([]relative{p}, descendants(t, p.pid)...)
		}
	}
	return found
}

// A node that ends during a drain of an hour gives its command only drain_timeout, and releases.
func TestStopDuringALongDrain(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	n := startDaemon(t, "n1", db.URL, `[[roles]]
name = "a"
lease = "2s"
drain_timeout = "2s"
command = ["sh", "-c", "trap '' TERM; echo at work; while :; do sleep 0.05; done"]
`)
	n.says("at work")
	drain := prepared(t, "--db", db.URL, "drain", "--scope", "a", "--timeout", "1h")
	proctest.Start(t, drain)
	n.says("leadership draining", "scope", "a")
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	happens(t, "the node ends", n.over)
	if code := n.cmd.ProcessState.ExitCode(); code != 0 || n.count("leadership released", "scope", "a") != 1 {
		t.Errorf("exit code %d, want 0 and the scope released; the log:\n%s", code, n.text())
	}
}

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
	look := db.Connect(t)
	pgtest.Eventually(t, patience, "it says that lines are lost", func() bool {
		var lost int64
		err := look.QueryRow(t.Context(), `SELECT max(lines_lost) FROM conch.process`).Scan(&lost)
		return err == nil && lost > 0
	})
	if out, _ := proctest.Output(t, prepared(t, "--db", db.URL, "doctor"), patience); !strings.Contains(out, "lines of its log or more") {
		t.Errorf("the doctor says nothing of a log that nobody reads:\n%s", out)
	}
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

// A leader of conch run has little memory of its own: what is linked for a node's services, and not used by a run, starts
// nothing. The rest of what it takes are pages of the program, which all processes of a machine share.
func TestALeaderTakesLittleMemory(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	cmd := prepared(t, "run", "--db", db.URL, "--scope", "s", "--", "sh", "-c", "echo at work; exec sleep 1000")
	cmd.Path = program // the race detector takes many times as much
	p := proctest.Listen(t, cmd)
	p.Says(patience, "at work")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	kB := map[string]int{}
	for line := range strings.Lines(string(status)) {
		var n int
		if name, rest, is := strings.Cut(line, ":"); is {
			if _, err := fmt.Sscanf(rest, "%d kB", &n); err == nil {
				kB[name] = n
			}
		}
	}
	t.Logf("VmRSS %d kB, RssAnon %d kB, RssFile %d kB", kB["VmRSS"], kB["RssAnon"], kB["RssFile"])
	const most = 12 << 10 // three times what it is: with huge pages, the system rounds up
	if own := kB["RssAnon"]; own == 0 || own > most {
		t.Errorf("a leader has %d kB of its own, want at most %d", own, most)
	}
}

// What is linked fills little memory before main, whatever a user has configured: the functions init of all packages are counted in
// bytes, which are the same on every machine. A library whose clients fill a megabyte falls here.
func TestWhatIsLinkedStartsLittle(t *testing.T) {
	t.Parallel()
	cmd := prepared(t, "version")
	cmd.Path = program
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	r := call(t, cmd)
	bytes := map[string]int{}
	sum := 0
	for line := range strings.Lines(r.err) { // init PACKAGE @1.5 ms, 0.01 ms clock, 2040 bytes, 20 allocs
		words := strings.Fields(line)
		if len(words) < 9 || words[0] != "init" || words[8] != "bytes," {
			continue
		}
		n, err := strconv.Atoi(words[7])
		if err != nil {
			t.Fatal(line)
		}
		bytes[words[1]] = n
		sum += n
	}
	most := slices.SortedFunc(maps.Keys(bytes), func(a, b string) int { return bytes[b] - bytes[a] })
	if len(most) < 100 {
		t.Fatalf("%d packages are traced: %s", len(most), r.err)
	}
	const bound = 1_000_000
	if sum > bound {
		t.Errorf("all packages fill %d bytes, want at most %d: make what is not always needed lazy (sync.OnceValue), or link less", sum, bound)
		for _, name := range most[:10] {
			t.Logf("%8d %s", bytes[name], name)
		}
	}
}
