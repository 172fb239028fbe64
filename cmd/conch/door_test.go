//go:build unix

package main_test

import (
	"io"
	"net"
	"testing"
)

// door is an address behind which a server is, once it is open.
type door struct {
	t       testing.TB
	address string
	to      string
}

// newDoor reserves an address at which nothing answers.
func newDoor(t testing.TB, to string) *door {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, address: ln.Addr().String(), to: to}
	_ = ln.Close()
	return d
}

func (d *door) open() {
	d.t.Helper()
	ln, err := net.Listen("tcp", d.address)
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
