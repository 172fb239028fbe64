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
// nodes hold a file, or a plain one.
type uploads struct {
	url    string // the name of a file follows
	client *http.Client
	pids   []int  // of its processes, if they are not this one
	called string // added to the names of figures beside it
}

// filed measures how fast three nodes hold what is put to their leader, beside a plain server that
// writes each file three times, and beside three plain servers of which one sends files to the others.
func filed(ctx context.Context, cfg Config) (r Report, err error) {
	s, err := openSite(ctx, cfg)
	defer func() { err = errors.Join(err, s.Clear()) }()
	if err != nil {
		return r, err
	}
	cfg.Say("files: three nodes on %s", s.about(ctx))
	c, err := openCabinets(ctx, cfg, s)
	defer c.endAll()
	if err != nil {
		return r, err
	}
	alone, err := startPlain(ctx, s.dir, plainCopies)
	if err != nil {
		return r, err
	}
	defer alone.stop()
	relay, err := startRelay(ctx, s.dir)
	if err != nil {
		return r, err
	}
	defer relay.stop()
	servers := []*uploads{c.leader, {url: alone.url, client: c.leader.client}, {url: relay.url, client: c.leader.client, called: "_relayed"}}
	for _, callers := range []int{1, filesCallers} {
		if err := large(ctx, cfg, &r, callers, servers); err != nil {
			return r, err
		}
	}
	return r, small(ctx, cfg, &r, servers)
}

// large puts files of several chunks, in turn with both ceilings.
func large(ctx context.Context, cfg Config, r *Report, callers int, servers []*uploads) error {
	paces, works := make([][]float64, len(servers)), make([][]float64, len(servers))
	for round := range cfg.amounts().filings {
		cfg.Say("files: %d of %d MiB by %d callers, round %d …", cfg.amounts().files, largeFile>>20, callers, round+1)
		for _, i := range turn(round, len(servers)) {
			pace, worked, err := servers[i].measure(ctx, cfg, fmt.Sprintf("large-%d-%d", callers, round), callers)
			if err != nil {
				return err
			}
			paces[i], works[i] = append(paces[i], pace), append(works[i], worked)
		}
	}
	for i, s := range servers[1:] {
		var ratios []float64
		for round, pace := range paces[0] {
			ratios = append(ratios, pace/paces[i+1][round])
		}
		name := fmt.Sprintf("put_large_by_%d%s", callers, s.called)
		r.beside(name, median(paces[0]), median(paces[i+1]), "MB/s")
		r.add(name+"_ratio_least", slices.Min(ratios), "of a round")
		r.add(name+"_ratio_most", slices.Max(ratios), "of a round")
		r.beside(name+"_processor", median(works[0]), median(works[i+1]), "s/GiB")
	}
	return nil
}

// measure returns MB/s, and the processor time per GiB of the server and this process. The files stay,
// since ext4 makes new ones slowly for minutes after others were removed.
func (u *uploads) measure(ctx context.Context, cfg Config, name string, callers int) (pace, worked float64, err error) {
	many := cfg.amounts().files
	pids := append([]int{os.Getpid()}, u.pids...)
	before := spent(pids...)
	rates, err := u.putAll(ctx, name, many, largeFile, 1, callers)
	if err != nil {
		return 0, 0, err
	}
	worked = (spent(pids...) - before).Seconds() / (float64(many) * largeFile / (1 << 30))
	return rates[0] * largeFile / 1e6, worked, nil
}

// small puts files of one chunk and reports the pace at the beginning and at the end, when there are many.
func small(ctx context.Context, cfg Config, r *Report, servers []*uploads) error {
	const parts = 6
	many := cfg.amounts().smallFiles
	paces := make([][]float64, len(servers))
	for i, s := range servers {
		cfg.Say("files: %d of %d bytes …", many, smallFile)
		var err error
		if paces[i], err = s.putAll(ctx, "small", many, smallFile, parts, filesCallers); err != nil {
			return err
		}
	}
	for i, s := range servers[1:] {
		for _, at := range []int{0, parts - 1} {
			r.beside(fmt.Sprintf("put_small_with_%d%s", at*many/parts, s.called), paces[0][at], paces[i+1][at], "files/s")
		}
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
					if e := u.put(ctx, stamp, own); e != nil {
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

func (u *uploads) put(ctx context.Context, name string, content []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, u.url+name+fmt.Sprintf("?copies=%d", plainCopies-1), bytes.NewReader(content))
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
		err = fmt.Errorf("putting %s: %s: %.200q", name, res.Status, text)
	}
	return err
}
