package postmaster

import "syscall"

// DiesWithProgram says whether the server ends with a program that is killed.
const DiesWithProgram = true

// tie ends the server with us. The signal is SIGQUIT, an immediate shutdown, and
// not SIGKILL: the server then still ends its own children and gives its shared
// memory back. The kernel sends it when the *thread* that started the server
// ends, hence the locked thread in process.run.
func tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }

func memoryFolder() string {
	const dir = "/dev/shm"
	var stat syscall.Statfs_t
	if syscall.Statfs(dir, &stat) != nil || stat.Bavail*uint64(stat.Bsize) < room {
		return ""
	}
	return dir
}
