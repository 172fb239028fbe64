//go:build unix

package cli

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
)

// listen handles signals until stop is called.
func (c *conductor) listen() (stop func()) {
	wanted := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH}
	if c.tty == nil { // else the terminal stops and continues the whole job itself
		wanted = append(wanted, unix.SIGTSTP, unix.SIGCONT)
	}
	signals := make(chan os.Signal, 16)
	over := make(chan struct{})
	var listening sync.WaitGroup
	signal.Notify(signals, keeper.Heeded(wanted...)...) // nohup is meant for the command too
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

// heard handles a signal. It never waits: the elector goes on leading while the command ends.
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
		// The gate need not be shut first: the deadline passes by itself, and the keeper runs on.
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	}
}

// typed reports whether the command may have had a signal from the terminal, which signals all
// of its foreground group. A signal to conch alone looks the same. A hangup is always passed on:
// it reaches only conch if conch leads its session, and jobs of a shell may get it twice anyway.
func (c *conductor) typed(sig syscall.Signal) bool {
	return c.tty != nil && c.begun.Load() && c.tty.foreground() == unix.Getpgrp() &&
		(sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGWINCH)
}

// asked handles a signal that asks conch to end. The first lets the command end, the second kills it.
func (c *conductor) asked(sig syscall.Signal) {
	again := c.ending.Err() != nil
	c.end()
	switch {
	case c.keeper == nil:
		c.endNode()
	case again:
		c.keeper.Kill()
	default:
		k, grace := c.keeper, c.flags.stopGrace
		timers := []*time.Timer{time.AfterFunc(grace, k.Kill)}
		if c.typed(sig) {
			// A command that is already ending may take a second signal for haste, so it has half
			// of its time undisturbed. If it has had none, it has the other half.
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
