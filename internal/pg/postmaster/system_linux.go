package postmaster

import "syscall"

// DiesWithProgram reports whether the server ends when this program is killed.
const DiesWithProgram = true

// tie ends the server when this program ends. The signal is SIGQUIT, an immediate
// shutdown, and not SIGKILL, so that the server still ends its children and frees its
// shared memory. The kernel sends it when the *thread* that started the server ends,
// hence the locked thread in launch.
func tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }

func memoryFolder() string {
	const dir = "/dev/shm"
	var stat syscall.Statfs_t
	if syscall.Statfs(dir, &stat) != nil || stat.Bavail*uint64(stat.Bsize) < room {
		return ""
	}
	return dir
}
