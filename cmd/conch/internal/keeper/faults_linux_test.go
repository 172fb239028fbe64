package keeper_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

const lease = 500 * time.Millisecond

// race is two processes of conch that campaign for one scope, and the acts of their commands.
type race struct {
	*testing.T
	db      *pgtest.DB
	scope   string
	dir     string
	args    []string
	env     []string
	conches map[string]*proctest.Process
	words   map[string]*bytes.Buffer
	epoch   int64
	leader  string
	seen    seen
}

// seen is what has been read of the acts so far, so that a look reads only new ones.
type seen struct {
	bytes int64
	epoch map[string]int64 // of the last act of main and of daemon
	actor map[int]life     // by process number: has acted and was not found dead
}

type life struct {
	who   string
	epoch int64
}

func newRace(t *testing.T, db *pgtest.DB, env []string, args ...string) *race {
	t.Helper()
	r := &race{T: t, db: db, scope: t.Name(), dir: t.TempDir(), args: args, env: env, conches: map[string]*proctest.Process{}, words: map[string]*bytes.Buffer{}}
	r.seen = seen{epoch: map[string]int64{}, actor: map[int]life{}}
	t.Cleanup(func() { // registered before they start, so it runs when all have ended
		if t.Failed() {
			for id, w := range r.words {
				t.Logf("%s said: %s", id, w)
			}
		}
	})
	for _, id := range []string{"a", "b"} {
		r.start(id)
	}
	r.next()
	return r
}

func (r *race) start(id string) {
	r.Helper()
	args := append([]string{"--scope", r.scope, "--id", id, "--lease", lease.String(), "--log-level", "info"}, r.args...)
	cmd := conch(r.T, r.db, append(args, "--", os.Args[0])...)
	cmd.Env = append(append(cmd.Env, lifeEnv+"=main", dirEnv+"="+r.dir), r.env...)
	r.words[id] = &bytes.Buffer{}
	cmd.Stderr = r.words[id]
	r.conches[id] = proctest.Start(r.T, cmd)
}

// look reads the acts that were added since the last look.
func (r *race) look() {
	r.Helper()
	file, err := os.Open(evidence.OutsideFile(r.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return
	} else if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	fresh, err := io.ReadAll(io.NewSectionReader(file, r.seen.bytes, math.MaxInt32))
	if err != nil {
		r.Fatal(err)
	}
	fresh = fresh[:bytes.LastIndexByte(fresh, '\n')+1]
	r.seen.bytes += int64(len(fresh))
	for line := range bytes.Lines(fresh) {
		var a evidence.Act
		if err := evidence.Decode(line, &a); err != nil {
			r.Fatal(err)
		}
		id, who, pid := part(a.Node)
		r.seen.actor[pid] = life{who, a.Epoch}
		if r.seen.epoch[who] = a.Epoch; a.Epoch > r.epoch {
			r.leader = id
		}
	}
}

// next waits until the command and the daemon of a newer epoch have acted. Its act door is open
// then, so no process of an older epoch may live.
func (r *race) next() {
	r.Helper()
	pgtest.Eventually(r.T, patience, fmt.Sprintf("a command of an epoch above %d acts", r.epoch), func() bool {
		r.look()
		return r.seen.epoch["main"] > r.epoch && r.seen.epoch["daemon"] == r.seen.epoch["main"]
	})
	r.epoch = r.seen.epoch["main"]
	for pid, l := range r.seen.actor {
		if l.epoch == r.epoch {
			continue
		}
		if s := state(pid); s != "" && s != "Z" {
			r.Fatalf("the %s of epoch %d lives on in state %s while epoch %d acts", l.who, l.epoch, s, r.epoch)
		}
		delete(r.seen.actor, pid) // its number may be reused
	}
}

func part(node string) (id, who string, pid int) {
	parts := strings.Fields(node)
	pid, _ = strconv.Atoi(parts[2])
	return parts[0], parts[1], pid
}

// proven checks the acts for overlaps, and how many leaderships there were.
func (r *race) proven(epochs int64) {
	r.Helper()
	acts, err := evidence.ReadActs(evidence.OutsideFile(r.dir))
	if err != nil {
		r.Fatal(err)
	}
	v := evidence.Judge(evidence.Record{Outside: acts})
	r.Logf("%d acts, %d leaderships", len(acts), v.Leaders)
	if v.Overlapping != 0 || int64(v.Leaders) < epochs {
		r.Errorf("%d overlaps, want 0; %d leaderships, want at least one per round", v.Overlapping, v.Leaders)
	}
}

// repeat injects a fault into two races at once, a few times in each; under CONCH_NIGHTLY into four,
// rounds times in each.
func repeat(t *testing.T, rounds int, fault func(r *race), args ...string) {
	t.Parallel()
	db := pgtest.New(t)
	races := 4
	if !runtest.Nightly() {
		races, rounds = 2, (rounds+4)/5
	}
	for i := range races {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var env []string
			if i%2 == 0 { // the walk over /proc must do without a control group
				env = []string{keeper.NoCgroup + "=1"}
			}
			r := newRace(t, db, env, args...)
			for range rounds {
				fault(r)
			}
			r.proven(int64(rounds))
		})
	}
}

// When conch is killed, no process of its command is left when the successor's act door opens: 100 times
// at night, 10 times by day.
func TestConchKilled(t *testing.T) {
	repeat(t, 25, func(r *race) {
		killed := r.leader
		r.conches[killed].Kill()
		r.conches[killed].Wait(patience)
		r.next()
		r.start(killed)
	})
}

// When conch is stopped, no deadline comes, and the keeper's alarm ends the command. Conch
// campaigns again when it is resumed.
func TestConchStopped(t *testing.T) {
	repeat(t, 6, func(r *race) {
		stopped := r.conches[r.leader]
		stopped.Signal(unix.SIGSTOP)
		r.next()
		stopped.Signal(unix.SIGCONT)
	})
}

// When the keeper is killed, the command dies with it, and conch kills the rest before it releases.
func TestKeeperKilled(t *testing.T) {
	repeat(t, 6, func(r *race) {
		for _, kid := range children(r.conches[r.leader].Cmd.Process.Pid) {
			_ = unix.Kill(kid, unix.SIGKILL)
		}
		r.next()
	})
}

// When the keeper is stopped and conch killed before it notices, the death of conch resumes the keeper.
func TestConchKilledKeeperStopped(t *testing.T) {
	runtest.LongRun(t)
	repeat(t, 3, func(r *race) {
		killed := r.leader
		conch := r.conches[killed]
		for _, kid := range children(conch.Cmd.Process.Pid) {
			_ = unix.Kill(kid, unix.SIGSTOP)
			pgtest.Eventually(r.T, patience, "the keeper is stopped", func() bool { return state(kid) == "T" })
		}
		conch.Kill()
		r.next()
		conch.Wait(patience) // not before: a live command holds its output open
		r.start(killed)
	})
}

// In a PID namespace no process outlives conch and the keeper, even if both are killed.
func TestBothKilledInANamespace(t *testing.T) {
	runtest.LongRun(t)
	repeat(t, 3, func(r *race) {
		killed := r.leader
		conch := r.conches[killed]
		conch.Signal(unix.SIGSTOP) // or it would do the keeper's work first
		for _, kid := range children(conch.Cmd.Process.Pid) {
			_ = unix.Kill(kid, unix.SIGKILL)
		}
		conch.Kill()
		conch.Wait(patience)
		r.next()
		r.start(killed)
	}, "--isolate")
}

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
