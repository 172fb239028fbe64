//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/conchhq/conch/internal/durable"
)

const plainCopies = 3

// plainServer is a ceiling of the files: it receives a file over HTTP, writes it to its folders, and
// sends it on to its peers. A file is answered for when its bytes and its name are durable everywhere.
type plainServer struct {
	url    string
	server *http.Server
	dirs   []string
	peers  []*plainServer
	client *http.Client
}

func startPlain(ctx context.Context, dir string, copies int) (*plainServer, error) {
	p := &plainServer{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: filesCallers}}}
	for range copies {
		folder, err := os.MkdirTemp(dir, "plain-*")
		if err != nil {
			return nil, err
		}
		p.dirs = append(p.dirs, folder)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.url = "http://" + listener.Addr().String() + "/"
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: patience}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// startRelay starts one server that sends what it has stored to two others.
func startRelay(ctx context.Context, dir string) (first *plainServer, err error) {
	for range plainCopies {
		p, err := startPlain(ctx, dir, 1)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = p
		} else {
			first.peers = append(first.peers, p)
		}
	}
	return first, nil
}

func (p *plainServer) stop() {
	_ = p.server.Close()
	p.client.CloseIdleConnections()
	for _, peer := range p.peers {
		peer.stop()
	}
}

// ServeHTTP implements http.Handler.
func (p *plainServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	err := p.store(name, r.Body)
	if err == nil {
		err = inParallel(p.peers, func(_ int, to *plainServer) error { return p.relay(r.Context(), name, to) })
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// store copies the content to all folders at once and syncs them side by side.
func (p *plainServer) store(name string, content io.Reader) error {
	files := make([]*os.File, len(p.dirs))
	writers := make([]io.Writer, len(p.dirs))
	for i, dir := range p.dirs {
		f, err := os.CreateTemp(dir, "draft-*")
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		files[i], writers[i] = f, f
	}
	if _, err := io.CopyBuffer(io.MultiWriter(writers...), content, make([]byte, 1<<20)); err != nil {
		return err
	}
	return inParallel(files, func(i int, f *os.File) error { return place(f, p.dirs[i], name) })
}

func (p *plainServer) relay(ctx context.Context, name string, to *plainServer) error {
	f, err := os.Open(filepath.Join(p.dirs[0], name))
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, to.url+name, f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	req.ContentLength = info.Size()
	res, err := p.client.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("relaying %s: %s", name, res.Status)
	}
	if res != nil {
		err = errors.Join(err, res.Body.Close())
	}
	return err
}

func inParallel[T any](all []T, do func(int, T) error) error {
	faults := make([]error, len(all))
	var group sync.WaitGroup
	for i, v := range all {
		group.Go(func() { faults[i] = do(i, v) })
	}
	group.Wait()
	return errors.Join(faults...)
}

func place(f *os.File, dir, name string) error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return durable.Folder(dir)
}
