package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"
)

// Where the addresses of a node are written.
const (
	ofAPI   = "listen in [node], or --listen"
	ofOps   = "ops_listen in [node], or --ops-listen"
	ofPeers = "listen in [identity]"
)

// PeersUnheard says why the address for the peers cannot be listened on, and what to do. An error about something else it returns.
func PeersUnheard(addr string, err error) error {
	if op, is := errors.AsType[*net.OpError](err); !is || op.Op != "listen" {
		return err
	}
	return listenError(ofPeers, addr, err)
}

// listenError says why the address of a key cannot be listened on, and what to do.
func listenError(key, addr string, err error) error {
	op, _ := errors.AsType[*net.OpError](err)
	dns, _ := errors.AsType[*net.DNSError](err)
	socket := op != nil && op.Net == "unix"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use: stop what listens there (ss -ltnp) or choose another address with %s", addr, key)
	case socket && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cannot be made, since its folder is missing: make the folder or choose another address with %s", addr, key)
	case socket && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be made, since this user may not write to its folder: allow it or choose another address with %s", addr, key)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("this user may not listen on %s: choose another address with %s, with a port of 1024 or more, or give the program the right cap_net_bind_service", addr, key)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is no address of this machine (ip addr): choose another address with %s", addr, key)
	case dns != nil:
		return fmt.Errorf("%s cannot be listened on, since there is no host %q: choose another address with %s", addr, dns.Name, key)
	case op != nil:
		err = op.Err
	}
	return fmt.Errorf("%s cannot be listened on (%w): choose another address with %s", addr, withoutPath(err), key)
}

// withoutPath shortens a system error: the caller's message already names the operation and path.
func withoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return errors.New(strings.TrimPrefix(err.Error(), "listen "))
}

// Unusable says that the folder named by a key cannot be used, and what to do.
func Unusable(key, dir string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s = %q cannot be used (%w): name a folder that this user may make or write to", key, dir, path.Err)
	}
	return fmt.Errorf("%s = %q cannot be used: %w", key, dir, err)
}
