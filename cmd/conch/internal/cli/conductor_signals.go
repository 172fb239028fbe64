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
	// What a terminal sends it sends to the command as well, which is in our group.
	fromTerminal := c.tty != nil && (sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGHUP || sig == unix.SIGWINCH)
	if c.keeper != nil && !fromTerminal {
		c.keeper.Signal(sig)
	}
	switch sig {
	case unix.SIGINT, unix.SIGTERM:
		c.asked()
	case unix.SIGHUP, unix.SIGQUIT:
		if c.keeper == nil {
			c.asked()
		}
	case unix.SIGTSTP:
		// Nothing is shut before: the deadline passes by itself, and the keeper is
		// not stopped.
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	default:
	}
}

// asked: conch is to end. The first time the command may end in its own way and
// time, the second time it is killed.
func (c *conductor) asked() {
	switch {
	case c.keeper == nil:
		c.stopping = true
		c.stop(nil)
	case c.stopping:
		c.keeper.Kill()
	default:
		c.stopping = true
		k := c.keeper
		last := time.AfterFunc(c.flags.stopGrace, k.Kill)
		go func() {
			<-k.Done()
			last.Stop()
		}()
	}
}
