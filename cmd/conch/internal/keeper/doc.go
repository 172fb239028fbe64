// Package keeper runs a command so that it and all its descendants are dead before a deadline,
// even if conch itself is killed or stopped.
//
// # Processes
//
//	conch ──orders──▶ keeper ──▶ command ──▶ its descendants
//	      ◀─reports──
//
// The keeper is a separate process: this same program under a hidden command. Conch sends it
// each new deadline of the gate through a pipe that only conch holds. The keeper has an alarm
// on the gate's clock, which also counts while the machine is suspended. If no later deadline
// comes, as when conch is stopped, the keeper asks the command to end and then kills the whole
// tree, early enough to reap it before the deadline. If the pipe ends, as when conch is dead,
// the keeper kills the tree at once.
//
// # Who watches the keeper
//
// The command has a parent-death signal and dies with the keeper. Conch is a subreaper too, so
// the other descendants of a dead keeper become conch's children, and conch kills them before
// it releases the leadership. Conch also kills a keeper that has been stopped. If conch is killed
// before it can do so, the keeper's parent-death signal, SIGCONT, resumes the keeper, which finds
// that the pipe has ended. Conch kills none of its other children: with several roles in one
// node, a keeper that dies costs only its own command (reaper_linux.go).
//
// # How a tree is emptied
//
// The keeper is a subreaper: a descendant that loses its parent becomes its child, so forking
// twice or starting a session does not leave the tree. The keeper first stops all descendants,
// so that all end at one moment, then kills them, and repeats that until the kernel reports that
// no child is left. If a control group (version 2) can be made, cgroup.kill kills all at once.
//
// # Terminal
//
// If conch has a controlling terminal, the command shares conch's process group: it is in the
// foreground when conch is, and Ctrl-C, Ctrl-Z, fg and bg affect both, as for any job of a
// shell. The keeper then has its own process group and ignores the terminal's signals. Conch
// cannot tell Ctrl-C from a SIGINT that was sent to conch alone, so the command has half of its
// time to end by itself, and then gets SIGTERM. Without a terminal, the keeper has its own
// session and the command its own process group, to which conch forwards signals.
//
// # What escapes
//
//   - A process in an uninterruptible sleep (state D) dies when the sleep ends. Its
//     last act may still happen; the leadership is not released before.
//   - A tree that is stopped and resumed from outside, keeper included, acts until the system lets
//     the keeper run: on a loaded machine several acts began in 130 ms.
//   - A command that stops its keeper and conch acts on until somebody resumes them. As another user
//     (Options.User) it may not signal them, and with Isolate it cannot.
//   - Processes started elsewhere on the command's behalf: by a container engine, a
//     service manager, at, cron, ssh.
//   - A descendant that has become another user (sudo, setuid), if the keeper is not
//     root: the keeper may not kill it.
//   - If the keeper gets SIGKILL, and conch is also killed or stopped, only the command's
//     main process dies. With Isolate all die: the kernel empties a PID namespace whose
//     first process is gone.
//   - A fork storm that fills the machine's process table can take down the keeper and
//     conch: limit it with pids.max. A storm that only takes the processor is outrun by a
//     keeper that has a control group, or is root and may raise its priority (priority_linux.go).
//   - Effects that are already on their way to another machine.
//
// Only a fence refuses those. On systems other than Linux, conch itself keeps a process
// group, which is weaker: nothing ends the command when conch is killed or stopped.
//
// [Supervise] is conch's side of one term: it starts a keeper, follows the leadership, judges the
// end of the command and may start another keeper. In the keeper's process the loop of loop.go
// feeds [Machine], which is pure and decides.
package keeper
