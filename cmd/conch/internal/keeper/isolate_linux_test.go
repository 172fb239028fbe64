package keeper_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// nobody is a user without privileges.
const nobody = 65534

// admitted returns a user who can reach the private server: by its group, so that others cannot.
func admitted(t *testing.T, db *pgtest.DB, uid uint32) *syscall.Credential {
	t.Helper()
	cfg, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	var folder unix.Stat_t
	if err := errors.Join(unix.Stat(cfg.Host, &folder), os.Chmod(cfg.Host, 0o710)); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{folder.Gid}}
}

// canUnshare skips the test if even util-linux cannot make a user namespace.
func canUnshare(t *testing.T, flags ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	cmd := exec.Command("unshare", append(flags, "true")...)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := proctest.Output(t, cmd, patience); err != nil {
		t.Skipf("no user namespaces for users without privileges here: %v %s", err, out)
	}
}

// A user without privileges gets a PID namespace inside a user namespace, keeps the same user ID,
// and no process survives conch and keeper.
func TestIsolatedWithoutPrivileges(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	canUnshare(t, "--user", "--pid", "--fork")
	db := pgtest.New(t)
	cmd := sh(t, db, hard+` & echo "user $(id -u) counts $([ $$ -lt 100 ] && echo from one)"; cat`, "--isolate")
	cmd.Path, cmd.Dir = "/proc/self/exe", "/" // that user cannot enter the folder of the test binary
	cmd.SysProcAttr.Credential = admitted(t, db, nobody)
	p := begin(t, cmd)
	p.says("user 65534 counts from one")
	conch := p.Cmd.Process
	guard := child(t, conch.Pid)
	pgtest.Eventually(t, patience, "the daemons run", func() bool { return len(marked(t)) > 8 })
	p.send(unix.SIGSTOP) // or it would do the keeper's work first
	_ = unix.Kill(guard, unix.SIGKILL)
	_ = conch.Kill()
	pgtest.Eventually(t, patience, "nothing is left", func() bool { return len(marked(t)) == 0 })
}

// If no PID namespace can be made, conch says so before it campaigns, with a remedy.
func TestNoNamespaceToBeHad(t *testing.T) {
	t.Parallel()
	canUnshare(t, "--user", "--map-root-user")
	db := pgtest.New(t)
	cmd := sh(t, db, "echo never", "--isolate")
	// The user namespace allows no further ones, and the process has no capability.
	cmd.Args = append([]string{
		"unshare", "--user", "--map-root-user", "sh", "-c",
		`echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all -- "$0" "$@"`, cmd.Path,
	}, cmd.Args[1:]...)
	cmd.SysProcAttr.Credential = admitted(t, db, 0)
	var err error
	if cmd.Path, err = exec.LookPath("unshare"); err != nil {
		t.Fatal(err)
	}
	r := call(t, cmd)
	if r.code != 2 || r.out != "" || !strings.Contains(r.err, keeper.ErrIsolate.Error()) || strings.Count(r.err, "\n") != 1 {
		t.Errorf("got %+v, want exit code 2 and one line about the namespace", r)
	}
	if got := events(t, db); got != "" {
		t.Errorf("conch led although the command cannot run: %s", got)
	}
}

// A command that stops its keeper and conch acts beside its successor. Under --isolate it has no number for either, and its
// parent is a process 1, which ignores it.
func TestACommandThatStopsItsKeeperActsOn(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for _, args := range [][]string{nil, {"--isolate"}} {
		if args != nil && keeper.CanIsolate(t.Context()) != nil {
			continue
		}
		db := pgtest.New(t)
		p := begin(t, sh(t, db, `kill -STOP $PPID; [ $PPID = 1 ] || kill -STOP $(awk '{ print $4 }' /proc/$PPID/stat); while :; do echo "acts in $CONCH_EPOCH"; sleep 0.02; done`, args...))
		p.says("acts in 1")
		if args != nil {
			for range 100 { // two leases
				p.says("acts in 1")
			}
			p.send(unix.SIGTERM)
			p.end()
			continue
		}
		next := begin(t, sh(t, db, `echo "acts in $CONCH_EPOCH"; cat`, "--id", "next"))
		next.says("acts in 2")
		for range 1000 {
			select {
			case <-p.Lines: // what it has printed before
			default:
			}
		}
		p.says("acts in 1")
		_ = next.stdin.Close()
		next.wait()
		sweepMarked(t)
		p.wait()
	}
}
