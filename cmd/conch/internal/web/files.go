package web

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
)

// Files are the scopes of which this node has file data.
type Files interface {
	// Scope is nil for any other.
	Scope(scope string) FileScope
	// Peers answers what the other nodes ask about a scope; nil for any other.
	Peers(scope string) http.Handler
}

// FileScope is the file data of one scope.
type FileScope interface {
	Catalog() FileCatalog
	// Open is of the node's last complete catalog; [ErrUnknownFile], a *[FieldError].
	Open(name string) (*FileContent, error)
	// Write puts a file, or removes it if content is nil, and waits for so many followers
	// or, with fewer than 0, as many as are configured. Its errors are *[NotLeadingError],
	// [ErrTakingOver], [ErrUnconfirmed], [ErrFileTooLarge], a *[FieldError], what content
	// says, and those of a disk.
	Write(ctx context.Context, name string, content io.Reader, copies int) (Written, error)
}

// FileVersion counts the states of a catalog.
type FileVersion struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
}

func (v FileVersion) String() string { return fmt.Sprintf("%d.%d", v.Epoch, v.Seq) }

// FileCatalog is what a node has.
type FileCatalog struct {
	Version FileVersion            `json:"version"`
	Leading bool                   `json:"leading"` // this node takes writes
	Holder  string                 `json:"holder"`  // who does, as last heard
	Files   []FileEntry            `json:"files"`   // by name
	Peers   map[string]FileVersion `json:"peers,omitempty"`
	AsOf    time.Time              `json:"as_of"` // when it was last known to be the leader's
}

// FileEntry is one file of a catalog.
type FileEntry struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// FileContent is a file to be read; it is closed after that.
type FileContent struct {
	io.ReadCloser
	Size    int64
	Version FileVersion
	AsOf    time.Time
}

// Written is what became of a write.
type Written struct {
	Version FileVersion `json:"version"`
	Size    int64       `json:"size"`
	Copies  int         `json:"copies"` // followers that hold it
}

// What a write or a read may end with.
var (
	ErrUnknownFile  = errors.New("there is no file of that name")
	ErrTakingOver   = errors.New("this node has just begun to lead and has not heard from enough others yet: ask again")
	ErrUnconfirmed  = errors.New("it is stored here and not by enough followers: it may or may not survive, ask again")
	ErrFileTooLarge = errors.New("there is no room for it")
)

// NotLeadingError says that another node takes writes.
type NotLeadingError struct{ Holder string }

func (e *NotLeadingError) Error() string { return "this node does not lead the files" }

const (
	pathFiles = "/v1/files/"
	pathPeers = "/v1/sync/"
	// fileChunk is how much of a file has to pass within readTimeout, or writeTimeout.
	fileChunk = 64 << 10
	// filePatience is how long a write waits for followers.
	filePatience = 20 * time.Second
	// peerTimeout is for one exchange between nodes: 32 MiB at most.
	peerTimeout = time.Minute
)

func (s *Site) fileScope(r *http.Request) (FileScope, error) {
	scope := r.PathValue("scope")
	if s.cfg.Files != nil {
		if f := s.cfg.Files.Scope(scope); f != nil {
			return f, nil
		}
	}
	return nil, failf(http.StatusNotFound, "this node has no files of %q: it needs a [[files]] of that scope in its configuration", scope).named("no-files", "No files")
}

func (s *Site) getCatalog(w http.ResponseWriter, r *http.Request) error {
	files, err := s.fileScope(r)
	if err != nil {
		return err
	}
	c := files.Catalog()
	c.AsOf = c.AsOf.UTC()
	c.Files = append([]FileEntry{}, c.Files...)
	slices.SortFunc(c.Files, func(a, b FileEntry) int { return strings.Compare(a.Name, b.Name) })
	return answer(w, http.StatusOK, c)
}

// getFile sends a file as it was at one version, however long that takes.
func (s *Site) getFile(w http.ResponseWriter, r *http.Request) error {
	files, err := s.fileScope(r)
	if err != nil {
		return err
	}
	content, err := files.Open(r.PathValue("name"))
	if err != nil {
		return s.notWritten(err)
	}
	defer func() { _ = content.Close() }()
	body := bufio.NewReaderSize(content, fileChunk)
	if _, err := body.Peek(1); err != nil && content.Size > 0 {
		return s.notWritten(err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(content.Size, 10))
	w.Header().Set("Conch-Version", content.Version.String())
	w.Header().Set("Conch-As-Of", content.AsOf.UTC().Format(time.RFC3339Nano))
	line := http.NewResponseController(w)
	for {
		_ = line.SetWriteDeadline(time.Now().Add(writeTimeout)) // a recorder of a test has none to move
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

func (s *Site) putFile(w http.ResponseWriter, r *http.Request) error {
	line := http.NewResponseController(w)
	body := &steady{from: r.Body, line: line}
	return s.writeFile(w, r, line, body)
}

func (s *Site) deleteFile(w http.ResponseWriter, r *http.Request) error {
	return s.writeFile(w, r, http.NewResponseController(w), nil)
}

func (s *Site) writeFile(w http.ResponseWriter, r *http.Request, line *http.ResponseController, body io.Reader) error {
	files, err := s.fileScope(r)
	if err != nil {
		return err
	}
	copies := -1
	if text := r.URL.Query().Get("copies"); text != "" {
		if copies, err = strconv.Atoi(text); err != nil || copies < 0 {
			return failf(http.StatusBadRequest, "copies = %q is no number of followers", text)
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
	_ = line.SetReadDeadline(time.Now().Add(readTimeout)) // for what is left of a body that was refused
	_ = line.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err != nil {
		return s.notWritten(err)
	}
	s.cfg.Logger.InfoContext(r.Context(), "file written", slog.String("scope", r.PathValue("scope")), slog.String("version", written.Version.String()),
		slog.String("method", r.Method), slog.String("actor", actor(r.Context())))
	return answer(w, http.StatusOK, written)
}

// steady gives an upload as long as it goes on, and no longer.
type steady struct {
	from io.Reader
	line *http.ResponseController
	over func()
}

func (b *steady) Read(to []byte) (int, error) {
	_ = b.line.SetReadDeadline(time.Now().Add(readTimeout))
	n, err := b.from.Read(to)
	_ = b.line.SetReadDeadline(time.Time{}) // what follows has a time of its own
	if errors.Is(err, io.EOF) {
		b.over()
	}
	return n, err
}

func (s *Site) notWritten(err error) error {
	if other, ok := errors.AsType[*NotLeadingError](err); ok {
		p := failf(http.StatusConflict, "%v: ask the one that does", other).named("not-leading", "Not leading")
		p.Holder = other.Holder
		return p
	}
	if field, ok := errors.AsType[*FieldError](err); ok {
		p := failf(http.StatusBadRequest, "%v", field).named("bad-field", "Not acceptable")
		p.Field = field.Field
		return p
	}
	switch {
	case errors.Is(err, ErrUnknownFile):
		return failf(http.StatusNotFound, "%v", ErrUnknownFile).named("unknown-file", "Unknown file")
	case errors.Is(err, ErrTakingOver):
		return failf(http.StatusServiceUnavailable, "%v", ErrTakingOver).named("taking-over", "Taking over").retryAfter(1)
	case errors.Is(err, ErrUnconfirmed):
		return failf(http.StatusGatewayTimeout, "%v", err).named("unconfirmed", "Not confirmed").retryAfter(1)
	case errors.Is(err, ErrFileTooLarge):
		return failf(http.StatusRequestEntityTooLarge, "%v", err)
	}
	return failf(http.StatusInternalServerError, "%v", err)
}

// servePeers is what the other nodes of a scope ask. They say no to each other in the
// words of the wing, which are problem documents too.
func (s *Site) servePeers(w http.ResponseWriter, r *http.Request) {
	name, err := s.admit(r, toOperate)
	if err != nil {
		problemOf(err).write(w)
		return
	}
	if _, err := s.fileScope(r); err != nil {
		problemOf(err).write(w)
		return
	}
	line, until := http.NewResponseController(w), time.Now().Add(peerTimeout)
	_ = line.SetReadDeadline(until)
	_ = line.SetWriteDeadline(until)
	inner := r.Clone(withActor(r.Context(), name))
	inner.URL.Path, inner.URL.RawPath = "/"+r.PathValue("rest"), ""
	s.cfg.Files.Peers(r.PathValue("scope")).ServeHTTP(w, inner)
}
