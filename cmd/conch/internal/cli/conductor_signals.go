//go:build unix

package cli

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listen passes signals on until the returned function is called.
func (c *conductor) listen() (stop func()) {
	wanted := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH}
	if !signal.Ignored(unix.SIGHUP) { // nohup means the command too
		wanted = append(wanted, unix.SIGHUP)
	}
	if c.tty == nil { // else the terminal stops and continues the whole job itself
		wanted = append(wanted, unix.SIGTSTP, unix.SIGCONT)
	}
	signals := make(chan os.Signal, 16)
	over := make(chan struct{})
	var listening sync.WaitGroup
	signal.Notify(signals, wanted...)
	listening.Go(func() {
		for {
			select {
			case s := <-signals:
				if sig, ok := s.(syscall.Signal); ok {
					c.heard(sig)
				}
			case <-over:
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(over)
		listening.Wait()
	}
}

// heard does what a signal asks for. Nothing here waits: the elector goes on
// leading while the command ends, so that it may take its time.
func (c *conductor) heard(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case sig == unix.SIGINT || sig == unix.SIGTERM, c.keeper == nil && (sig == unix.SIGHUP || sig == unix.SIGQUIT):
		c.asked(sig)
	case c.keeper != nil && !c.typed(sig):
		c.keeper.Signal(sig)
	}
	if sig == unix.SIGTSTP {
		// Nothing is shut before: the deadline passes by itself, and the keeper is
		// not stopped.
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	}
}

// typed tells whether the command may have had a signal from the terminal, which sends it
// to all of the group in its foreground. The same signal sent to conch alone looks no
// different. A hangup is passed on always: where conch is the first of its session it
// reaches nobody else, and a shell's jobs are used to hearing it twice.
func (c *conductor) typed(sig syscall.Signal) bool {
	return c.tty != nil && c.begun.Load() && c.tty.foreground() == unix.Getpgrp() &&
		(sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGWINCH)
}

// asked: conch is to end. The first time the command may end in its own way and
// time, the second time it is killed.
func (c *conductor) asked(sig syscall.Signal) {
	again := c.ending.Err() != nil
	c.end()
	switch {
	case c.keeper == nil:
		c.stop(nil)
	case again:
		c.keeper.Kill()
	default:
		k, grace := c.keeper, c.flags.stopGrace
		timers := []*time.Timer{time.AfterFunc(grace, k.Kill)}
		if c.typed(sig) {
			// Whoever is told again while it ends may take that for haste, so it gets half
			// of its time for itself. If it was never told it has the other half.
			timers = append(timers, time.AfterFunc(grace/2, func() { k.Signal(unix.SIGTERM) }))
		} else {
			k.Signal(sig)
		}
		go func() {
			<-k.Done()
			for _, t := range timers {
				t.Stop()
			}
		}()
	}
}
