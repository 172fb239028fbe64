package keeper

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/fence"
)

// newAlarm returns a function that sets an alarm on the gate's clock, which also counts while
// the machine is suspended: an alarm that is due meanwhile rings on resume. The alarm is never
// closed, since the process needs it until its end.
func newAlarm(ring func()) (set func(at fence.Instant), err error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	timer := os.NewFile(uintptr(fd), "alarm")
	go func() {
		for buf := make([]byte, 8); ; ring() {
			if _, err := timer.Read(buf); err != nil {
				return
			}
		}
	}()
	return func(at fence.Instant) {
		// Zero disarms; an instant in the past rings at once.
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
		_ = unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &spec, nil)
	}, nil
}
