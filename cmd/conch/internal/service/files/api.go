package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

// collection is the scopes of which this node has file data.
type collection interface {
	// Scope is nil for any other.
	Scope(scope string) data
	// Peers answers what the other nodes ask about a scope; nil for any other.
	Peers(scope string) http.Handler
}

// data is the file data of one scope.
type data interface {
	Catalog() Catalog
	// Open is of the node's last complete catalog; [errUnknown], a *[web.FieldError].
	Open(name string) (*Content, error)
	// Write puts a file, or removes it if content is nil, and waits for so many followers
	// or, with fewer than 0, as many as are configured. Its errors are *[notLeadingError],
	// [errTakingOver], [errUnconfirmed], [errTooLarge], a *[web.FieldError], what content
	// says, and those of a disk.
	Write(ctx context.Context, name string, content io.Reader, copies int) (Written, error)
}

// Version counts the states of a catalog.
type Version struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Epoch, v.Seq) }

// Catalog is what a node has.
type Catalog struct {
	Version Version            `json:"version"`
	Leading bool               `json:"leading"` // this node takes writes
	Holder  string             `json:"holder"`  // who does, as last heard
	Files   []Entry            `json:"files"`   // by name
	Peers   map[string]Version `json:"peers,omitempty"`
	AsOf    time.Time          `json:"as_of"` // when it was last known to be the leader's
}

// Entry is one file of a catalog.
type Entry struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// Content is a file to be read; it is closed after that.
type Content struct {
	io.ReadCloser
	Size    int64
	Version Version
	AsOf    time.Time
}

// Written is what became of a write.
type Written struct {
	Version Version `json:"version"`
	Size    int64   `json:"size"`
	Copies  int     `json:"copies"` // followers that hold it
}

// What a write or a read may end with.
var (
	errUnknown     = errors.New("there is no file of that name")
	errTakingOver  = errors.New("this node has just begun to lead and has not heard from enough others yet: ask again")
	errUnconfirmed = errors.New("it is stored here and not by enough followers: it may or may not survive, ask again")
	errTooLarge    = errors.New("there is no room for it")
)

// notLeadingError says that another node takes writes.
type notLeadingError struct{ Holder string }

func (e *notLeadingError) Error() string { return "this node does not lead the files" }

const (
	pathFiles = "/v1/files/{scope}"
	pathFile  = pathFiles + "/{name...}"
	pathPeers = "/v1/sync/{scope}/{rest...}"
	// fileChunk is how much of a file has to pass within web.ReadTimeout, or web.WriteTimeout.
	fileChunk = 64 << 10
	// filePatience is how long a write waits for followers.
	filePatience = 20 * time.Second
	// peerTimeout is for one exchange between nodes: 32 MiB at most.
	peerTimeout = time.Minute
)

// api is what callers and the other nodes ask over HTTP.
type api struct {
	files collection
	log   *slog.Logger
}

// routes are all of any size: what a file may have is said by the folder that takes it.
func (a *api) routes() []web.Route {
	const unbounded = -1
	return []web.Route{
		{Method: http.MethodGet, Path: pathFiles, Serve: a.getCatalog},
		{Method: http.MethodGet, Path: pathFile, Serve: a.getFile},
		{Method: http.MethodPut, Path: pathFile, Needs: web.ToOperate, Body: unbounded, Serve: a.putFile},
		{Method: http.MethodDelete, Path: pathFile, Needs: web.ToOperate, Body: unbounded, Serve: a.deleteFile},
		{Path: pathPeers, Needs: web.ToOperate, Body: unbounded, Serve: a.servePeers},
	}
}

func (a *api) data(r *http.Request) (data, error) {
	scope := r.PathValue("scope")
	if f := a.files.Scope(scope); f != nil {
		return f, nil
	}
	return nil, web.Failf(http.StatusNotFound, "this node has no files of %q: it needs a [[files]] of that scope in its configuration", scope).Named("no-files", "No files")
}

func (a *api) getCatalog(w http.ResponseWriter, r *http.Request) error {
	files, err := a.data(r)
	if err != nil {
		return err
	}
	c := files.Catalog()
	c.AsOf = c.AsOf.UTC()
	c.Files = append([]Entry{}, c.Files...)
	slices.SortFunc(c.Files, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return web.Answer(w, http.StatusOK, c)
}

// getFile sends a file as it was at one version, however long that takes.
func (a *api) getFile(w http.ResponseWriter, r *http.Request) error {
	files, err := a.data(r)
	if err != nil {
		return err
	}
	content, err := files.Open(r.PathValue("name"))
	if err != nil {
		return notWritten(err)
	}
	defer func() { _ = content.Close() }()
	body := bufio.NewReaderSize(content, fileChunk)
	if _, err := body.Peek(1); err != nil && content.Size > 0 {
		return notWritten(err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(content.Size, 10))
	w.Header().Set("Conch-Version", content.Version.String())
	w.Header().Set("Conch-As-Of", content.AsOf.UTC().Format(time.RFC3339Nano))
	line := http.NewResponseController(w)
	for {
		_ = line.SetWriteDeadline(time.Now().Add(web.WriteTimeout)) // a recorder of a test has none to move
		_, err := io.CopyN(w, body, fileChunk)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			// Half an answer has left: cut the line, or it would look like a whole one.
			panic(http.ErrAbortHandler) //nolint:forbidigo // the way in which a handler tells net/http so
		}
	}
}

func (a *api) putFile(w http.ResponseWriter, r *http.Request) error {
	line := http.NewResponseController(w)
	body := &steady{from: r.Body, line: line}
	return a.writeFile(w, r, line, body)
}

func (a *api) deleteFile(w http.ResponseWriter, r *http.Request) error {
	return a.writeFile(w, r, http.NewResponseController(w), nil)
}

func (a *api) writeFile(w http.ResponseWriter, r *http.Request, line *http.ResponseController, body io.Reader) error {
	files, err := a.data(r)
	if err != nil {
		return err
	}
	copies := -1
	if text := r.URL.Query().Get("copies"); text != "" {
		if copies, err = strconv.Atoi(text); err != nil || copies < 0 {
			return web.Failf(http.StatusBadRequest, "copies = %q is no number of followers", text)
		}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	wait := time.AfterFunc(filePatience, func() { cancel(context.DeadlineExceeded) })
	defer wait.Stop()
	if up, ok := body.(*steady); ok {
		wait.Stop() // it begins when everything has come
		up.over = func() { wait.Reset(filePatience) }
	}
	// A disk and the followers may take their time, before the body, in it and after it.
	_ = line.SetWriteDeadline(time.Time{}) // a recorder of a test has none to move
	_ = line.SetReadDeadline(time.Time{})
	written, err := files.Write(ctx, r.PathValue("name"), body, copies)
	_ = line.SetReadDeadline(time.Now().Add(web.ReadTimeout)) // for what is left of a body that was refused
	_ = line.SetWriteDeadline(time.Now().Add(web.WriteTimeout))
	if err != nil {
		return notWritten(err)
	}
	a.log.InfoContext(r.Context(), "file written", slog.String("scope", r.PathValue("scope")), slog.String("version", written.Version.String()),
		slog.String("method", r.Method), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, http.StatusOK, written)
}

// steady gives an upload as long as it goes on, and no longer.
type steady struct {
	from io.Reader
	line *http.ResponseController
	over func()
}

func (b *steady) Read(to []byte) (int, error) {
	_ = b.line.SetReadDeadline(time.Now().Add(web.ReadTimeout))
	n, err := b.from.Read(to)
	_ = b.line.SetReadDeadline(time.Time{}) // what follows has a time of its own
	if errors.Is(err, io.EOF) {
		b.over()
	}
	return n, err
}

func notWritten(err error) error {
	if other, ok := errors.AsType[*notLeadingError](err); ok {
		p := web.Failf(http.StatusConflict, "%v: ask the one that does", other).Named("not-leading", "Not leading")
		p.Holder = other.Holder
		return p
	}
	if field, ok := errors.AsType[*web.FieldError](err); ok {
		return field.Problem(http.StatusBadRequest)
	}
	switch {
	case errors.Is(err, errUnknown):
		return web.Failf(http.StatusNotFound, "%v", errUnknown).Named("unknown-file", "Unknown file")
	case errors.Is(err, errTakingOver):
		return web.Failf(http.StatusServiceUnavailable, "%v", errTakingOver).Named("taking-over", "Taking over").RetryAfter(1)
	case errors.Is(err, errUnconfirmed):
		return web.Failf(http.StatusGatewayTimeout, "%v", err).Named("unconfirmed", "Not confirmed").RetryAfter(1)
	case errors.Is(err, errTooLarge):
		return web.Failf(http.StatusRequestEntityTooLarge, "%v", err)
	}
	return web.Failf(http.StatusInternalServerError, "%v", err)
}

// servePeers is what the other nodes of a scope ask. They say no to each other in the
// words of the wing, which are problem documents too.
func (a *api) servePeers(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.data(r); err != nil {
		return err
	}
	line, until := http.NewResponseController(w), time.Now().Add(peerTimeout)
	_ = line.SetReadDeadline(until)
	_ = line.SetWriteDeadline(until)
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = "/"+r.PathValue("rest"), ""
	a.files.Peers(r.PathValue("scope")).ServeHTTP(w, inner)
	return nil
}
