//go:build unix

package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"sync"
)

const plainCopies = 3

// plainServer is the ceiling of the files: it receives a file over HTTP and writes it to three
// folders. A file is answered for when its bytes and its name are durable in all of them.
type plainServer struct {
	url    string
	server *http.Server
	dirs   []string
}

func startPlain(ctx context.Context, dir string) (*plainServer, error) {
	p := &plainServer{}
	for i := range plainCopies {
		folder := filepath.Join(dir, "plain", string(rune('a'+i)))
		if err := os.MkdirAll(folder, 0o700); err != nil {
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

func (p *plainServer) stop() { _ = p.server.Close() }

// ServeHTTP implements http.Handler.
func (p *plainServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	var err error
	if r.Method == http.MethodDelete {
		err = p.remove(name)
	} else {
		err = p.store(name, r.Body)
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
	faults := make([]error, len(files))
	var group sync.WaitGroup
	for i, f := range files {
		group.Go(func() { faults[i] = durable(f, p.dirs[i], name) })
	}
	group.Wait()
	return errors.Join(faults...)
}

func (p *plainServer) remove(name string) (err error) {
	for _, dir := range p.dirs {
		err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
	}
	return err
}

func durable(f *os.File, dir, name string) error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
