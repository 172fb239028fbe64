//go:build unix

package main_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// door is an address that leads to a server once the door is open.
type door struct {
	t       testing.TB
	address string
	to      string
	socket  *os.File // bound to the address; listens once it is open
}

// newDoor reserves an address at which nothing answers: a bound socket keeps the port, and
// refuses connections until it listens.
func newDoor(t testing.TB, to string) *door {
	t.Helper()
	syscall.ForkLock.RLock() // a process that starts now must not inherit the socket
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, to: to, socket: os.NewFile(uintptr(fd), "door")}
	t.Cleanup(func() { _ = d.socket.Close() })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	d.address = fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
	return d
}

func (d *door) open() {
	d.t.Helper()
	if err := unix.Listen(int(d.socket.Fd()), unix.SOMAXCONN); err != nil {
		d.t.Fatal(err)
	}
	ln, err := net.FileListener(d.socket)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			go d.pass(in)
		}
	}()
}

func (d *door) pass(in net.Conn) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", d.to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
	_, _ = io.Copy(in, out)
}
