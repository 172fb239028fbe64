package files

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/conchhq/conch/chunksync"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/fence"
)

// Scopes implements collection.
func (c *cabinet) Scopes() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for scope, d := range c.drawers {
		if d.wanted {
			all = append(all, scope)
		}
	}
	slices.Sort(all)
	return all
}

// Scope implements collection.
func (c *cabinet) Scope(scope string) data {
	if m := c.find(scope); m != nil {
		return managed{m}
	}
	return nil
}

// Peers implements collection.
func (c *cabinet) Peers(scope string) http.Handler {
	if m := c.find(scope); m != nil {
		return m.Handler()
	}
	return http.NotFoundHandler() // a reload has just removed the scope
}

type managed struct{ m *chunksync.Manager }

func versionOf(v chunksync.Version) Version {
	return Version{Epoch: v.Epoch, Seq: v.Seq}
}

// Catalog implements data.
func (f managed) Catalog() Catalog {
	s := f.m.Status()
	out := Catalog{Version: versionOf(s.Version), Leading: s.Leading, Holder: s.Holder, AsOf: s.AsOf}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		out.Files = append(out.Files, Entry{Name: name, Size: s.Files[name].Size})
	}
	for peer, v := range s.Peers {
		if out.Peers == nil {
			out.Peers = map[string]Version{}
		}
		out.Peers[peer] = versionOf(v)
	}
	return out
}

// Open implements data.
func (f managed) Open(name string) (*Content, error) {
	c, err := f.m.Open(name)
	if err != nil {
		return nil, apiError(err)
	}
	return &Content{ReadCloser: c, Size: c.File.Size, Version: versionOf(c.Version), AsOf: c.AsOf}, nil
}

// Write implements data.
func (f managed) Write(ctx context.Context, name string, content io.Reader, copies int) (Written, error) {
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
	return Written{Version: versionOf(receipt.Version), Size: receipt.File.Size, Copies: receipt.Copies}, apiError(err)
}

// shelves returns the metrics of each scope.
func (c *cabinet) shelves() []shelf {
	c.mu.Lock()
	managers := map[string]*chunksync.Manager{}
	for scope, d := range c.drawers {
		if d.wanted {
			managers[scope] = d.manager
		}
	}
	c.mu.Unlock()
	var all []shelf
	for scope, m := range managers {
		s := m.Status()
		one := shelf{Scope: scope, Files: len(s.Files), Behind: map[string]bool{}}
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

// apiError turns an error of chunksync into the API's own.
func apiError(err error) error {
	if bad, ok := errors.AsType[*chunksync.NameError](err); ok {
		return &web.FieldError{Field: "name", Text: bad.Why}
	}
	shut, isShut := errors.AsType[*fence.ShutError](err)
	stale, isStale := errors.AsType[*chunksync.StaleError](err)
	switch {
	case errors.Is(err, chunksync.ErrNotFound):
		return errUnknown
	case errors.Is(err, chunksync.ErrUnconfirmed): // before the leader: it wraps a StaleError, but the write is stored
		return errUnconfirmed
	case errors.Is(err, chunksync.ErrTakingOver):
		return errTakingOver
	case isShut:
		return &notLeadingError{Holder: shut.Holder}
	case isStale:
		return &notLeadingError{Holder: stale.Holder}
	case errors.Is(err, fence.ErrStale): // from the gate, which does not name the leader
		return &notLeadingError{}
	case errors.Is(err, chunksync.ErrTooLarge), errors.Is(err, chunksync.ErrFull):
		return errors.Join(errTooLarge, err)
	case errors.Is(err, chunksync.ErrCopies):
		return &web.FieldError{Field: "copies", Text: err.Error()}
	}
	return err
}
