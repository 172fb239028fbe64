//go:build unix

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	filesCallers = 8
	largeFile    = 5 << 20
	smallFile    = 1 << 10
)

// uploads is a server that files are put to: that of the leading node, which answers when all three
// nodes hold a file, or the plain one.
type uploads struct {
	url    string // the name of a file follows
	client *http.Client
}

// filed measures how fast three nodes hold what is put to their leader, beside a plain server that
// writes each file three times.
func filed(ctx context.Context, cfg Config) (r Report, err error) {
	s, err := openSite(ctx, cfg)
	defer func() { err = errors.Join(err, s.clear()) }()
	if err != nil {
		return r, err
	}
	cfg.Say("files: three nodes on %s", s.about(ctx))
	c, err := openCabinets(ctx, cfg, s)
	defer c.endAll()
	if err != nil {
		return r, err
	}
	plain, err := startPlain(ctx, s.dir)
	if err != nil {
		return r, err
	}
	defer plain.stop()
	raw := &uploads{url: plain.url, client: c.leader.client}
	for _, callers := range []int{1, filesCallers} {
		if err := large(ctx, cfg, &r, c, raw, callers); err != nil {
			return r, err
		}
	}
	return r, small(ctx, cfg, &r, c, raw)
}

// large puts files of several chunks, in turn with the plain server.
func large(ctx context.Context, cfg Config, r *Report, c *cabinets, raw *uploads, callers int) error {
	var ours, plain, ratios, work, plainWork []float64
	for half := range 2 * cfg.amounts().filings {
		cfg.Say("files: %d of %d MiB by %d callers, round %d …", cfg.amounts().files, largeFile>>20, callers, half/2+1)
		name := fmt.Sprintf("large-%d-%d", callers, half)
		if asksConch(half) {
			pace, worked, err := c.leader.measure(ctx, cfg, name, callers, c.pids())
			if err != nil {
				return err
			}
			ours, work = append(ours, pace), append(work, worked)
			continue
		}
		pace, worked, err := raw.measure(ctx, cfg, name, callers, nil)
		if err != nil {
			return err
		}
		plain, plainWork = append(plain, pace), append(plainWork, worked)
	}
	for i := range ours {
		ratios = append(ratios, ours[i]/plain[i])
	}
	name := fmt.Sprintf("put_large_by_%d", callers)
	r.beside(name, median(ours), median(plain), "MB/s")
	r.add(name+"_ratio_least", slices.Min(ratios), "of a round")
	r.add(name+"_ratio_most", slices.Max(ratios), "of a round")
	r.beside(name+"_processor", median(work), median(plainWork), "s/GiB")
	return nil
}

// measure returns MB/s, and the processor time per GiB of the server and this process. The files are
// removed afterwards, or the disk would have to hold all rounds.
func (u *uploads) measure(ctx context.Context, cfg Config, name string, callers int, pids []int) (pace, worked float64, err error) {
	many := cfg.amounts().files
	pids = append(pids, os.Getpid())
	before := spent(pids...)
	rates, err := u.putAll(ctx, name, many, largeFile, 1, callers)
	if err != nil {
		return 0, 0, err
	}
	worked = (spent(pids...) - before).Seconds() / (float64(many) * largeFile / (1 << 30))
	for i := range many {
		if err := u.do(ctx, http.MethodDelete, fmt.Sprintf("%s-0-%d", name, i), nil); err != nil {
			return 0, 0, err
		}
	}
	return rates[0] * largeFile / 1e6, worked, nil
}

// asksConch orders the halves of two rounds as ABBA.
func asksConch(half int) bool { return half%4 == 0 || half%4 == 3 }

// small puts files of one chunk and reports the pace at the beginning and at the end, when the catalog is long.
func small(ctx context.Context, cfg Config, r *Report, c *cabinets, raw *uploads) error {
	const parts = 6
	many := cfg.amounts().smallFiles
	cfg.Say("files: %d of %d bytes …", many, smallFile)
	ours, err := c.leader.putAll(ctx, "small", many, smallFile, parts, filesCallers)
	if err != nil {
		return err
	}
	plain, err := raw.putAll(ctx, "small", many, smallFile, parts, filesCallers)
	if err != nil {
		return err
	}
	for _, at := range []int{0, parts - 1} {
		r.beside(fmt.Sprintf("put_small_with_%d", at*many/parts), ours[at], plain[at], "files/s")
	}
	return nil
}

// putAll puts many files by several callers, and returns the files per second of each part of them.
func (u *uploads) putAll(ctx context.Context, name string, many, size, parts, callers int) (rates []float64, err error) {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	for part := range parts {
		began := time.Now()
		var next atomic.Int64
		var once sync.Once
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				own := bytes.Clone(content)
				for {
					i := int(next.Add(1)) - 1
					if i >= many/parts {
						return
					}
					// Each chunk of each file is another one, or conch would store it once.
					stamp := fmt.Sprintf("%s-%d-%d", name, part, i)
					for at := 0; at < size; at += 1 << 20 {
						copy(own[at:], stamp)
					}
					if e := u.do(ctx, http.MethodPut, stamp, own); e != nil {
						once.Do(func() { err = e })
						return
					}
				}
			})
		}
		group.Wait()
		if err != nil {
			return nil, err
		}
		rates = append(rates, perSecond(many/parts, began))
	}
	return rates, nil
}

func (u *uploads) do(ctx context.Context, method, name string, content []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, u.url+name+fmt.Sprintf("?copies=%d", plainCopies-1), bytes.NewReader(content))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+filesToken)
	res, err := u.client.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.200q", method, name, res.Status, text)
	}
	return err
}
