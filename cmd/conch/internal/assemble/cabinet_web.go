package assemble

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/conchhq/conch/chunksync"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/fence"
)

// What a cabinet is to the API, and to the page of metrics.

var _ web.Files = (*cabinet)(nil)

// Scope implements web.Files.
func (c *cabinet) Scope(scope string) web.FileScope {
	if m := c.find(scope); m != nil {
		return files{m}
	}
	return nil
}

// Peers implements web.Files.
func (c *cabinet) Peers(scope string) http.Handler {
	if m := c.find(scope); m != nil {
		return m.Handler()
	}
	return http.NotFoundHandler() // it was there a moment ago
}

type files struct{ m *chunksync.Manager }

func versionOf(v chunksync.Version) web.FileVersion {
	return web.FileVersion{Epoch: v.Epoch, Seq: v.Seq}
}

// Catalog implements web.FileScope.
func (f files) Catalog() web.FileCatalog {
	s := f.m.Status()
	out := web.FileCatalog{Version: versionOf(s.Version), Leading: s.Leading, Holder: s.Holder, AsOf: s.AsOf}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		out.Files = append(out.Files, web.FileEntry{Name: name, Size: s.Files[name].Size})
	}
	for peer, v := range s.Peers {
		if out.Peers == nil {
			out.Peers = map[string]web.FileVersion{}
		}
		out.Peers[peer] = versionOf(v)
	}
	return out
}

// Open implements web.FileScope.
func (f files) Open(name string) (*web.FileContent, error) {
	c, err := f.m.Open(name)
	if err != nil {
		return nil, inTheirWords(err)
	}
	return &web.FileContent{ReadCloser: c, Size: c.File.Size, Version: versionOf(c.Version), AsOf: c.AsOf}, nil
}

// Write implements web.FileScope.
func (f files) Write(ctx context.Context, name string, content io.Reader, copies int) (web.Written, error) {
	if copies < 0 {
		copies = chunksync.AsConfigured
	}
	var receipt chunksync.Receipt
	var err error
	if content == nil {
		receipt, err = f.m.Remove(ctx, name, copies)
	} else {
		receipt, err = f.m.Put(ctx, name, content, copies)
	}
	return web.Written{Version: versionOf(receipt.Version), Size: receipt.File.Size, Copies: receipt.Copies}, inTheirWords(err)
}

// shelves are what there is to measure.
func (c *cabinet) shelves() []metric.Shelf {
	c.mu.Lock()
	managers := map[string]*chunksync.Manager{}
	for scope, d := range c.drawers {
		if d.wanted {
			managers[scope] = d.manager
		}
	}
	c.mu.Unlock()
	var all []metric.Shelf
	for scope, m := range managers {
		s := m.Status()
		one := metric.Shelf{Scope: scope, Files: len(s.Files), Behind: map[string]bool{}}
		for _, f := range s.Files {
			one.Bytes += f.Size
		}
		for peer, held := range s.Peers {
			one.Behind[peer] = held != s.Version
		}
		all = append(all, one)
	}
	return all
}

// inTheirWords says in the words of the API what the wing has said.
func inTheirWords(err error) error {
	if bad, ok := errors.AsType[*chunksync.NameError](err); ok {
		return &web.FieldError{Field: "name", Text: bad.Why}
	}
	shut, isShut := errors.AsType[*fence.ShutError](err)
	stale, isStale := errors.AsType[*chunksync.StaleError](err)
	switch {
	case errors.Is(err, chunksync.ErrNotFound):
		return web.ErrUnknownFile
	case errors.Is(err, chunksync.ErrUnconfirmed): // before who leads: it is stored
		return web.ErrUnconfirmed
	case errors.Is(err, chunksync.ErrTakingOver):
		return web.ErrTakingOver
	case isShut:
		return &web.NotLeadingError{Holder: shut.Holder}
	case isStale:
		return &web.NotLeadingError{Holder: stale.Holder}
	case errors.Is(err, fence.ErrStale): // the gate said so, and it does not say who leads
		return &web.NotLeadingError{}
	case errors.Is(err, chunksync.ErrTooLarge), errors.Is(err, chunksync.ErrFull):
		return errors.Join(web.ErrFileTooLarge, err)
	case errors.Is(err, chunksync.ErrCopies):
		return &web.FieldError{Field: "copies", Text: err.Error()}
	}
	return err
}
