package keeper

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// CanBecome returns why a command cannot run as a user, nil if it can.
func CanBecome(name string) error {
	if _, _, err := become(name); err != nil {
		return err
	}
	var has [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &has[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	const needs = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL
	if has[0].Effective&needs != needs {
		return errors.New("a command that runs as another user needs a conch that may become that user, and may kill what it runs: " +
			"start conch as root, or with CAP_SETUID, CAP_SETGID and CAP_KILL")
	}
	return nil
}

// become returns what a process needs to be a user, with all groups of that user, and the variables that say who it is.
func become(name string) (*syscall.Credential, map[string]string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	var who map[string]string
	if err == nil {
		who = map[string]string{"USER": u.Username, "LOGNAME": u.Username, "HOME": u.HomeDir}
	} else {
		u = &user.User{Uid: name, Gid: name} // a number need not be in the system's list: an image may have none
	}
	groups, _ := u.GroupIds() // none of one who is not there
	var ids []uint32
	for _, text := range append([]string{u.Uid, u.Gid}, groups...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, nil, fmt.Errorf("there is no user %q on this machine: name another one, or a number", name)
		}
		ids = append(ids, uint32(id))
	}
	return &syscall.Credential{Uid: ids[0], Gid: ids[1], Groups: ids[2:]}, who, nil
}
