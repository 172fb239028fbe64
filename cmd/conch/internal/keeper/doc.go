// Package keeper runs a command so that it and everything that descends from it
// is dead before a deadline, even if conch itself has been killed or stopped.
//
// # Who is who
//
//	conch ──orders──▶ keeper ──▶ command ──▶ whatever it starts
//	      ◀─reports──
//
// The keeper is a process of its own, this same program under a hidden command.
// Conch hands it each new deadline of its gate through a pipe that nobody else
// holds. The keeper has an alarm on the gate's clock, the one that also counts
// while the machine is suspended. Without a later deadline it asks the command to
// end, then kills all there is, in time to bury it before the deadline: so it does
// when conch is stopped. It kills at once when the pipe ends: so it does when conch
// is dead.
//
// # Who watches the keeper
//
// The command has a parent-death signal and dies with it. Conch is a subreaper
// too, so all other descendants become conch's, which kills them before it lets
// go of the leadership; it also kills a keeper that somebody stopped. If conch is
// killed before it can, the keeper's own parent-death signal is the one that continues
// it, and it finds that the pipe has ended. Of conch's children it kills those only:
// with several roles in one node, a keeper that dies costs its own command and no
// other (nursery_linux.go).
//
// # How a tree is emptied
//
// The keeper is a subreaper: a descendant that loses its parent becomes its child,
// so nobody leaves the tree by forking twice or by beginning a session. Everybody
// found is stopped first, so that all end at one moment, then killed, over and over
// until no child is left, which the kernel says and not we. Where a control group
// of version 2 can be made, cgroup.kill does it at one stroke.
//
// # Terminal
//
// Where conch has a controlling terminal the command shares conch's process group:
// it is in the foreground when conch is, and Ctrl-C, Ctrl-Z, fg and bg mean both,
// as for any job of a shell. The keeper is then in a group of its own and deaf to
// the terminal's signals. Nobody can tell Ctrl-C from a SIGINT that was sent to conch
// alone, so the command has half of its time to end by itself, and then gets SIGTERM.
// Without a terminal the keeper has a session of its own, and the command a group of
// its own, to which conch forwards signals.
//
// # What escapes
//
//   - A process in an uninterruptible sleep (state D) dies when the sleep ends. Its
//     last act may still happen; the leadership is not released before.
//   - A whole tree that is stopped and resumed from outside, keeper included, may
//     finish an act before the keeper's alarm is served.
//   - What was started elsewhere on the command's behalf: by a container engine, a
//     service manager, at, cron, ssh.
//   - A descendant that has become another user (sudo, setuid), if the keeper is not
//     root: it may not be killed by us.
//   - If the keeper is killed with SIGKILL, and conch is too or is stopped, only the
//     command's main process dies. With Isolate everything does: the kernel empties a
//     PID namespace whose first process is gone.
//   - A storm of forks that fills the process table of the machine can take the keeper
//     and conch with it: bound it by pids.max. One that only takes the processor is
//     outrun by a keeper that has a control group, or that is root and may go before
//     all others (autogroup_linux.go).
//   - Effects that are already on their way to another machine.
//
// Only a fence refuses those. On other systems than Linux conch itself keeps a
// process group, which is weaker: nobody ends it when conch is killed or stopped.
//
// [Supervise] is conch's side of one term: it starts a keeper, follows the leadership, judges
// the end of the command and starts another keeper if it is to. In the keeper's process [Machine]
// decides; it is pure. The loop in loop.go feeds it.
package keeper
