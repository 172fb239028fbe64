//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

// put measures how many puts clients of the leader have, each as soon as it has the answer to the one before.
func (c *cluster) put(ctx context.Context) error {
	for _, clients := range c.cfg.clients {
		for range c.cfg.runs {
			leader, err := c.agree(ctx)
			if err != nil {
				return err
			}
			before := c.spent()
			took, all, err := load(ctx, clients, c.cfg.slice, func(ctx context.Context, client, n int) error {
				_, err := leader.asked.Put(ctx, fmt.Sprint("flags/", (client*31+n)%1000), c.value(n))
				return err
			})
			if err != nil {
				return err
			}
			c.cfg.say(line{
				Kind: puts, Clients: clients, Rate: float64(len(took)) / c.cfg.slice.Seconds(), Took: took,
				Processor: float64((c.spent() - before).Microseconds()) / float64(max(all, 1)),
			})
		}
	}
	return nil
}

// value is what a put has: no two are the same.
func (c *cluster) value(n int) string { return fmt.Sprintf("%0*d", c.cfg.value, n) }

// load has clients ask, each as soon as it has the answer to what it asked before. The first part of the time is not counted, but
// for the number of all.
func load(ctx context.Context, clients int, lasts time.Duration, ask func(ctx context.Context, client, n int) error) (took []float64, all int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		group sync.WaitGroup
		mu    sync.Mutex
	)
	begins := time.Now().Add(lasts / 4)
	ends := begins.Add(lasts)
	for client := range clients {
		group.Go(func() {
			var own []float64
			n := 0
			for ; ctx.Err() == nil; n++ {
				asked := time.Now()
				if asked.After(ends) {
					break
				}
				if err := ask(ctx, client, n); err != nil {
					cancel(err)
					return
				}
				if now := time.Now(); now.After(begins) && now.Before(ends) {
					own = append(own, ms(now.Sub(asked)))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took, all = append(took, own...), all+n
		})
	}
	group.Wait()
	return took, all, context.Cause(ctx)
}

// rest counts what the members send each other, and take of a processor, while nothing happens.
func (c *cluster) rest(ctx context.Context) error {
	before, err := c.sent(ctx)
	if err != nil {
		return err
	}
	began, spent := time.Now(), c.spent()
	if err := pause.For(ctx, c.cfg.rest); err != nil {
		return err
	}
	after, err := c.sent(ctx)
	if err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	c.cfg.say(line{Kind: rested, Bytes: (after - before) / seconds, Processor: ms(c.spent()-spent) / seconds})
	return nil
}

// sent adds up what the members have sent each other, by their own metrics.
func (c *cluster) sent(ctx context.Context) (bytes float64, err error) {
	for _, m := range c.members {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.client+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		own, err := sentBytes(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return 0, err
		}
		bytes += own
	}
	return bytes, nil
}

// sentBytes adds up the bytes that a member has sent to each other one.
func sentBytes(metrics io.Reader) (all float64, err error) {
	is := false
	for lines := bufio.NewScanner(metrics); lines.Scan(); {
		text := lines.Text()
		if !strings.HasPrefix(text, "etcd_network_peer_sent_bytes_total{") {
			continue
		}
		v, err := strconv.ParseFloat(text[strings.LastIndexByte(text, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		all, is = all+v, true
	}
	if !is {
		return 0, errors.New("a member does not say what it has sent")
	}
	return all, nil
}

// spent is the processor time of all members.
func (c *cluster) spent() (sum time.Duration) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on each Linux that Go runs on
	for _, m := range c.members {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.process.PID()))
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(text), ") ") // a name may contain spaces
		fields := strings.Fields(after)
		for i := 11; i < 13 && i < len(fields); i++ { // in user mode, and in the kernel
			ticks, _ := strconv.Atoi(fields[i])
			sum += time.Duration(ticks) * tick
		}
	}
	return sum
}

// kill measures the time from the death of the leader until a put is committed that was asked of another member at once. A put that
// has no answer is asked again, as the members lose what they pass on to a leader that is dead: clients of the library do not by
// themselves.
func (c *cluster) kill(ctx context.Context) error {
	for i := range c.cfg.kills {
		leader, err := c.agree(ctx)
		if err != nil {
			return err
		}
		if err := pause.For(ctx, time.Second/2+rand.N(100*time.Millisecond)); err != nil { //nolint:gosec // so that the same moment is not met each time
			return err
		}
		other := c.members[0]
		if other == leader {
			other = c.members[1]
		}
		began := time.Now()
		leader.process.Signal(syscall.SIGKILL)
		if err := other.puts(ctx, fmt.Sprint("kill-", i)); err != nil {
			return err
		}
		c.cfg.say(line{Kind: killed, Took: []float64{ms(time.Since(began))}})
		<-leader.process.Over()
		if err := leader.start(c.launcher, c.cfg.program, c.all); err != nil {
			return err
		}
	}
	return nil
}

// again is how long an answer to a put is waited for while there may be no leader.
const again = 200 * time.Millisecond

// puts puts until it is committed.
func (m *member) puts(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("nothing is committed %s after the leader was killed", patience))
	defer cancel()
	for ctx.Err() == nil {
		one, done := context.WithTimeout(ctx, again)
		_, err := m.asked.Put(one, key, "")
		done()
		if err == nil {
			return nil
		}
	}
	return context.Cause(ctx)
}
