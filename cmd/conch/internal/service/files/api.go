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

// collection is the scopes whose files this node has.
type collection interface {
	// Scopes returns the names of all, in order.
	Scopes() []string
	// Scope returns nil for an unknown scope.
	Scope(scope string) data
	// Peers serves the other nodes of a known scope.
	Peers(scope string) http.Handler
}

// data is the files of one scope.
type data interface {
	Catalog() Catalog
	// Open opens a file of the last complete catalog, or fails with [errUnknown] or a *[web.FieldError].
	Open(name string) (*Content, error)
	// Write puts a file, or removes it if content is nil, and waits until copies followers
	// hold it; below 0, as many as are configured. It may return a *[notLeadingError],
	// [errTakingOver], [errUnconfirmed], [errTooLarge], a *[web.FieldError], or an error of
	// content or of a disk.
	Write(ctx context.Context, name string, content io.Reader, copies int) (Written, error)
}

// Version numbers the catalogs of a scope.
type Version struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Epoch, v.Seq) }

// Catalog describes the files of a scope on this node.
type Catalog struct {
	Version Version            `json:"version"`
	Leading bool               `json:"leading"` // this node takes writes
	Holder  string             `json:"holder"`  // the leader, as last heard
	Files   []Entry            `json:"files"`   // by name
	Peers   map[string]Version `json:"peers,omitempty"`
	AsOf    time.Time          `json:"as_of"` // when Version was last known to be the leader's
}

// Entry is one file of a catalog.
type Entry struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// Content is an open file. The caller closes it.
type Content struct {
	io.ReadCloser
	Size    int64
	Version Version
	AsOf    time.Time
}

// Written is the result of a write.
type Written struct {
	Version Version `json:"version"`
	Size    int64   `json:"size"`
	Copies  int     `json:"copies"` // number of followers that hold it
}

var (
	errUnknown     = errors.New("no file has that name")
	errTakingOver  = errors.New("this node has just begun to lead, and too few other nodes have answered yet: try again")
	errUnconfirmed = errors.New("stored here, but not confirmed by enough followers: it may or may not survive, so write it again")
	errTooLarge    = errors.New("there is no room for the file")
)

// notLeadingError says that another node leads; Holder is empty if it is unknown.
type notLeadingError struct{ Holder string }

func (e *notLeadingError) Error() string { return "this node does not lead the files" }

const (
	pathAll     = "/v1/files"
	pathCatalog = "/v1/catalog"

	pathFiles = "/v1/files/{scope}"
	pathFile  = pathFiles + "/{name...}"
	pathPeers = "/v1/sync/{scope}/{rest...}"
	// fileChunk is how much of a download must pass within web.WriteTimeout.
	fileChunk = 64 << 10
	// filePatience is how long a write waits for the followers.
	filePatience = 20 * time.Second
	// peerTimeout limits one exchange between nodes, which has up to 32 MiB.
	peerTimeout = time.Minute
)

// api serves callers and the other nodes over HTTP.
type api struct {
	files collection
	log   *slog.Logger
}

// routes sets no size limit for bodies, since chunksync limits files itself.
func (a *api) routes() []web.Route {
	const unbounded = -1
	return []web.Route{
		{Method: http.MethodGet, Path: pathAll, Serve: a.getScopes},
		{Method: http.MethodGet, Path: pathCatalog, Query: []string{"scope", "q", "after", "limit"}, Serve: a.getNamedCatalog},
		{Method: http.MethodGet, Path: pathFiles, Serve: a.getCatalog},
		{Method: http.MethodGet, Path: pathFile, Serve: a.getFile},
		{Method: http.MethodPut, Path: pathFile, Needs: web.ToOperate, Body: unbounded, Query: []string{"copies"}, Serve: a.putFile},
		{Method: http.MethodDelete, Path: pathFile, Needs: web.ToOperate, Body: unbounded, Query: []string{"copies"}, Serve: a.deleteFile},
		{Path: pathPeers, Needs: web.ToOperate, Body: unbounded, Serve: a.servePeers},
	}
}

func (a *api) data(r *http.Request) (data, error) { return a.dataOf(r.PathValue("scope")) }

func (a *api) dataOf(scope string) (data, error) {
	if f := a.files.Scope(scope); f != nil {
		return f, nil
	}
	return nil, web.Failf(http.StatusNotFound, "this node has no files for the scope %q: its configuration needs a [[files]] table with that scope", scope).Named("no-files", "No files")
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

// getFile sends a file as it was at one version. The download may take any time.
func (a *api) getFile(w http.ResponseWriter, r *http.Request) error {
	files, err := a.data(r)
	if err != nil {
		return err
	}
	content, err := files.Open(r.PathValue("name"))
	if err != nil {
		return refusal(err)
	}
	defer func() { _ = content.Close() }()
	body := bufio.NewReaderSize(content, fileChunk)
	if _, err := body.Peek(1); err != nil && content.Size > 0 {
		return refusal(err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(content.Size, 10))
	w.Header().Set("Conch-Version", content.Version.String())
	w.Header().Set("Conch-As-Of", content.AsOf.UTC().Format(time.RFC3339Nano))
	line := http.NewResponseController(w)
	for {
		_ = line.SetWriteDeadline(time.Now().Add(web.WriteTimeout)) // a test's recorder has no deadlines
		_, err := io.CopyN(w, body, fileChunk)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			// Cut the connection, or the truncated answer would look complete.
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to abort an answer
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
			return web.Failf(http.StatusBadRequest, "copies = %q is not a number of followers", text).Wrong("copies")
		}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	wait := time.AfterFunc(filePatience, func() { cancel(context.DeadlineExceeded) })
	defer wait.Stop()
	if up, ok := body.(*steady); ok {
		wait.Stop() // it starts when the body is complete
		up.over = func() { wait.Reset(filePatience) }
	}
	// The disk and the followers may be slow before, during and after the body.
	_ = line.SetWriteDeadline(time.Time{})
	_ = line.SetReadDeadline(time.Time{})
	written, err := files.Write(ctx, r.PathValue("name"), body, copies)
	_ = line.SetReadDeadline(time.Now().Add(web.ReadTimeout)) // for the rest of a refused body
	_ = line.SetWriteDeadline(time.Now().Add(web.WriteTimeout))
	if err != nil {
		return refusal(err)
	}
	a.log.InfoContext(r.Context(), "file written", slog.String("scope", r.PathValue("scope")), slog.String("version", written.Version.String()),
		slog.String("method", r.Method), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, http.StatusOK, written)
}

// steady limits the time of each read, and not that of the whole upload.
type steady struct {
	from io.Reader
	line *http.ResponseController
	over func()
}

func (b *steady) Read(to []byte) (int, error) {
	_ = b.line.SetReadDeadline(time.Now().Add(web.ReadTimeout))
	n, err := b.from.Read(to)
	_ = b.line.SetReadDeadline(time.Time{}) // the write itself has no deadline
	if errors.Is(err, io.EOF) {
		b.over()
	}
	return n, err
}

func refusal(err error) error {
	if other, ok := errors.AsType[*notLeadingError](err); ok {
		p := web.Failf(http.StatusConflict, "%v: ask the leader", other).Named("not-leading", "Not leading")
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
		return web.Failf(http.StatusRequestEntityTooLarge, "%v", err).Named("too-large", "Too large")
	}
	return web.Failf(http.StatusInternalServerError, "%v", err)
}

// servePeers serves the other nodes of a scope. Refusals are problem documents of chunksync.
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
