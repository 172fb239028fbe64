package keeper_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

// behind has a shell run a script that ends with exec "$0" "$@", which is conch.
func behind(cmd *exec.Cmd, script string) *exec.Cmd {
	cmd.Args = append([]string{"sh", "-c", script, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

// A signal that conch was started to ignore is ignored by conch and by the command. SIGPIPE is not, though conch
// survives it.
func TestWhatIsIgnoredFromTheStart(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, behind(sh(t, db, `awk '/SigIgn/ { print "ignores " $2 }' /proc/self/status; exec sleep 1000`, "--lease", "3s"),
		`trap '' HUP INT QUIT PIPE; exec "$0" "$@"`))
	var mask uint64 // the C library's own signals are in it where this test's parents ignore them
	if _, err := fmt.Sscanf(p.Says(patience, "ignores"), "ignores %x", &mask); err != nil || mask&0x7fffffff != 7 {
		t.Errorf("the command ignores %x (%v), want 7: HUP, INT and QUIT", mask, err)
	}
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		p.send(sig)
	}
	p.send(unix.SIGUSR1) // the first that is heeded ends the command
	if code := p.end(); code != 128+int(unix.SIGUSR1) {
		t.Errorf("exit code %d, want that of SIGUSR1: the others are ignored", code)
	}
}

// A script that becomes conch by exec leaves it a child.
func TestChildrenOfOthersAreReaped(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, behind(sh(t, db, `echo up; cat`, "--lease", "3s"), `sleep 1000 & echo "left $!"; exec "$0" "$@"`))
	var left int
	if _, err := fmt.Sscanf(p.Says(patience, "left"), "left %d", &left); err != nil {
		t.Fatal(err)
	}
	p.says("up")
	_ = unix.Kill(left, unix.SIGKILL)
	pgtest.Eventually(t, patience, "the child that is not conch's is reaped", func() bool { return state(left) == "" })
	_ = p.stdin.Close()
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d, want the command's", code)
	}
}

// As process 1 of a container conch reaps what probes leave behind, also while it leads nothing, and SIGTERM ends it.
func TestProcessOne(t *testing.T) {
	t.Parallel()
	if out, err := proctest.Output(t, exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true"), patience); err != nil {
		t.Skipf("no PID namespace can be made here: %v %s", err, out)
	}
	for _, leads := range []string{"true", "false"} {
		t.Run("leads "+leads, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			cmd := sh(t, db, `echo up; exec sleep 1000`, "--lease", "3s")
			cmd.Env = append(cmd.Env, "CONCH_LEADER_ENABLED="+leads)
			cmd.Args = append([]string{"unshare", "--pid", "--fork", "--mount-proc", "--", cmd.Path}, cmd.Args[1:]...)
			var err error
			if cmd.Path, err = exec.LookPath("unshare"); err != nil {
				t.Fatal(err)
			}
			p := begin(t, cmd)
			if leads == "true" {
				p.says("up")
			}
			one := child(t, p.Cmd.Process.Pid)
			had := children(one)
			probe := marks(t, exec.Command("nsenter", "--target", fmt.Sprint(one), "--pid", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 0"))
			if out, err := proctest.Output(t, probe, patience); err != nil {
				t.Fatalf("the probe: %v %s", err, out)
			}
			orphan := 0
			pgtest.Eventually(t, patience, "conch has the probe's child", func() bool {
				for _, pid := range children(one) {
					command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
					if !slices.Contains(had, pid) && string(command) == "sleep\n" {
						orphan = pid
					}
				}
				return orphan != 0
			})
			_ = unix.Kill(orphan, unix.SIGKILL)
			pgtest.Eventually(t, patience, "the probe's child is reaped", func() bool { return state(orphan) == "" })
			_ = unix.Kill(one, unix.SIGTERM)
			if code := p.end(); leads == "true" && code != 143 || leads == "false" && code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// A command that runs as another user cannot stop its keeper, and ends as any other.
func TestAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	db := pgtest.New(t)
	const script = `kill -STOP $PPID 2>/dev/null || echo refused; env | grep -c '^HOME='; echo "$(id -u):$(id -g) $USER $HOME"; exec sleep 1000`
	for _, args := range [][]string{nil, {"--isolate"}} { // there the parent is a process 1, which ignores it
		p := begin(t, sh(t, db, script, append([]string{"--lease", "3s", "--user", "nobody"}, args...)...))
		if args == nil {
			p.says("refused")
		}
		p.says("1") // one HOME
		p.says("65534:65534 nobody /")
		p.send(unix.SIGTERM)
		if code := p.end(); code != 143 {
			t.Errorf("%v: exit code %d, want 143", args, code)
		}
	}
	cmd := sh(t, db, "echo never", "--user", "4242")
	cmd.Path, cmd.Dir = "/proc/self/exe", "/"
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	if r := call(t, cmd); r.code != 2 || r.out != "" || !strings.Contains(r.err, "--user: a command that runs as another user needs") {
		t.Errorf("without the rights: %+v", r)
	}
	if r := call(t, sh(t, db, "echo never", "--user", "")); r.code != 2 || !strings.Contains(r.err, `there is no user ""`) {
		t.Errorf("a variable that is not set: %+v", r)
	}
	if r := call(t, sh(t, db, "echo never", "--user", "no-such-user")); r.code != 2 || !strings.Contains(r.err, `there is no user "no-such-user"`) {
		t.Errorf("a user who is not there: %+v", r)
	}
}

// The command gets a URL of its own, or none, and nothing of what names conch's database.
func TestADatabaseForTheCommand(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for _, c := range []struct {
		args []string
		env  string
		want string
	}{
		{args: []string{"--cmd-db", "postgres://app:own@db/app"}, want: "CONCH_DB_URL=postgres://app:own@db/app"},
		{args: []string{"--cmd-db", "none"}},
		{env: "CONCH_CMD_DB_URL=none"},
		{env: "CONCH_CMD_DB_URL=mysql://app:own@db/app", want: "CONCH_DB_URL=mysql://app:own@db/app"},
		{args: []string{"--cmd-db", "none"}, env: "CONCH_CMD_DB_URL=mysql://app:own@db/app"},
	} {
		cmd := sh(t, db, "env | grep -E '^(CONCH_.*DB|PG(PASS|USER|HOST|SSLP))' || true", append(c.args, "--lease", "3s")...)
		cmd.Env = append(cmd.Env, "PGPASSWORD=hunter2", "PGUSER=node", "PGSSLPASSWORD=hunter2", c.env)
		if r := call(t, cmd); r.code != 0 || strings.TrimSpace(r.out) != c.want {
			t.Errorf("%v %s: got %+v, want %q", c.args, c.env, r, c.want)
		}
	}
	for _, wrong := range []string{"", "hunter2"} {
		if r := call(t, sh(t, db, "echo never", "--cmd-db", wrong)); r.code != 2 || strings.Contains(r.err, "hunter2") || !strings.Contains(r.err, "--cmd-db") {
			t.Errorf("--cmd-db %q: %+v", wrong, r)
		}
	}
}

func TestNoWait(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if r := call(t, sh(t, db, "echo alone; exit 4", "--no-wait", "--lease", "3s")); r.code != 4 || r.out != "alone\n" {
		t.Errorf("with nobody else: %+v, want the command's code", r)
	}
	p := begin(t, sh(t, db, "echo up; cat", "--lease", "3s"))
	p.says("up")
	if r := result(t, sh(t, db, "echo never", "--no-wait", "--id", "two")); r.code != 75 || r.out != "" || !strings.Contains(r.err, `me leads "s"`) || strings.Count(r.err, "\n") != 1 {
		t.Errorf("with a leader: %+v, want exit code 75", r)
	}
	_ = p.stdin.Close()
	p.end()
	for url, says := range map[string]string{
		"postgres://x:hunter2@127.0.0.1:1/x":           "nothing listens at 127.0.0.1:1",
		strings.Replace(db.URL, db.Name, "nowhere", 1): "nowhere",
	} {
		r := call(t, sh(t, db, "echo never", "--no-wait", "--db", url))
		if r.code != 69 || strings.Contains(r.err, "hunter2") || !strings.Contains(r.err, "cannot be known: ") || !strings.Contains(r.err, says) {
			t.Errorf("%s: %+v, want exit code 69 and %q", url, r, says)
		}
	}
	if got := events(t, db); got != "acquired released acquired released" {
		t.Errorf("history: got %s", got)
	}
}

// A database that is down at the start is waited for, and said to be down.
func TestADatabaseThatIsDownAtTheStart(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	proxy, url := db.Proxy(t)
	proxy.Refuse()
	said := make(chan string, 1000)
	cmd := sh(t, db, "echo up", "--lease", "3s", "--db", url)
	cmd.Stderr = proctest.Cut(func(line string) { said <- line })
	p := begin(t, cmd)
	for line := range said {
		if strings.Contains(line, "DATABASE UNREACHABLE") {
			break
		}
	}
	proxy.Heal()
	p.says("up")
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// A run serves what a node serves to probes, scrapers and load balancers.
func TestOpsOfARun(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	socket := filepath.Join(t.TempDir(), "ops")
	cmd := sh(t, db, "echo up; cat", "--lease", "3s", "--log-level", "info", "--ops-listen", "unix:"+socket)
	reader, writer := pipe(t)
	_ = reader.Close() // of the log
	cmd.Stderr = writer
	p := begin(t, cmd)
	p.says("up")
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	get := func(path string) (int, string) {
		t.Helper()
		res, err := client.Get("http://run" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/healthz": {200, `"scope":"s"`}, "/readyz": {200, "ready"}, "/leader/s": {200, ""}, "/leader/t": {503, ""}, "/v1/scopes": {404, ""},
		"/metrics": {200, `conch_is_leader{scope="s"} 1`},
	} {
		if code, text := get(path); code != want.code || !strings.Contains(text, want.text) {
			t.Errorf("%s: %d, want %d and %q in %s", path, code, want.code, want.text, text)
		}
	}
	pgtest.Eventually(t, patience, "the metrics say that nobody reads the log", func() bool {
		_, text := get("/metrics")
		return strings.Contains(text, "\nconch_lines_lost_total ") && !strings.Contains(text, "\nconch_lines_lost_total 0\n")
	})
	_ = p.stdin.Close()
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if r := call(t, sh(t, db, "echo never", "--ops-listen", "9090")); r.code != 2 || !strings.Contains(r.err, `--ops-listen = "9090" is no address`) {
		t.Errorf("a wrong address: %+v", r)
	}
}

// process is a conch run that has started.
type process struct {
	*testing.T
	*proctest.Process
	stdin io.Closer
}

func begin(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	return &process{T: t, Process: proctest.Listen(t, cmd), stdin: stdin}
}

func (p *process) says(text string) {
	p.Helper()
	p.Says(patience, text)
}

func (p *process) send(sig unix.Signal) {
	p.Helper()
	p.Process.Signal(sig)
}

// end waits for the end, demands that no process is left, and returns the exit code.
func (p *process) end() int {
	p.Helper()
	code := p.wait()
	if pids := marked(p.T); len(pids) > 0 {
		for _, pid := range pids {
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			p.Errorf("process %d outlives conch, in state %s: %q", pid, state(pid), command)
		}
	}
	return code
}

// wait returns the exit code. It kills a process that does not end by itself.
func (p *process) wait() int {
	p.Helper()
	return p.Wait(patience)
}

// A search for marks may miss a process in the moment after its exec, when it has no environment.
// What a test has started is ended all the same.
func TestOneThatNoSweepFindsIsEnded(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, *exec.Cmd) *process{
		"by its lines": begin,
		"on a terminal": func(t *testing.T, cmd *exec.Cmd) *process {
			t.Helper()
			return newScreen(t).job(cmd)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p *process
			t.Run("a test that ends early", func(t *testing.T) {
				cmd := marks(t, exec.Command("sleep", "1000"))
				cmd.Env = nil // it has no mark at all
				p = start(t, cmd)
			})
			if s := state(p.Cmd.Process.Pid); s != "" {
				t.Errorf("after the end of its test the process is in state %s, want none", s)
			}
		})
	}
}
