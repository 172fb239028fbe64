package chunksync

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ChunkSize is the length in bytes of every chunk of a file except the last.
const ChunkSize = 1 << 20

const (
	// maxCatalog limits an encoded catalog, in bytes. It allows for about 400 GB of files.
	maxCatalog = 32 << 20
	maxRoom    = maxCatalog - 256 // for its files: the rest is their version
	// maxName limits the name of a file, in bytes.
	maxName = 512
)

// Hash is the SHA-256 of a chunk, and its name.
type Hash [sha256.Size]byte

func hashOf(chunk []byte) Hash { return sha256.Sum256(chunk) }

// String returns 64 lower-case hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// parseHash accepts exactly what String returns.
func parseHash(text string) (h Hash, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(h) || hex.EncodeToString(raw) != text {
		return h, fmt.Errorf("%.80q is not a chunk's hash of 64 lower-case hexadecimal digits", text)
	}
	return Hash(raw), nil
}

// MarshalText implements encoding.TextMarshaler, in the form of String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) (err error) {
	*h, err = parseHash(string(text))
	return err
}

// File describes the content of one name.
type File struct {
	Size   int64  `json:"size"` // in bytes
	Chunks []Hash `json:"chunks"`
}

func (f File) same(o File) bool {
	return f.Size == o.Size && slices.Equal(f.Chunks, o.Chunks)
}

// catalog is all files at one version. On the disk and on the wire a tenure is called reign.
type catalog struct {
	Tenure Tenure          `json:"reign"`
	Seq    int64           `json:"seq"`
	Files  map[string]File `json:"files"`
}

func (c catalog) Version() Version { return Version{Epoch: c.Tenure.Epoch, Seq: c.Seq} }

// write returns the change to the tenure's next catalog, with the file put or, if f is nil,
// removed.
func (c catalog) write(name string, f *File) change {
	return change{Tenure: c.Tenure, From: c.Seq, Seq: c.Seq + 1, Files: map[string]*File{name: f}}
}

// encode returns the catalog as JSON, names sorted.
func (c catalog) encode() ([]byte, error) { return json.Marshal(c) }

// room returns the bytes that a file takes in an encoded catalog.
func room(name string, f File) int {
	text, _ := json.Marshal(name) //nolint:errchkjson // a string cannot fail to encode
	const rest, chunk = len(`:{"size":,"chunks":[]},`), len(`"",`) + 2*sha256.Size
	return len(text) + rest + len(strconv.FormatInt(f.Size, 10)) + len(f.Chunks)*chunk
}

// parseCatalog reads and checks an encoded catalog that may come from anywhere.
func parseCatalog(text []byte) (catalog, error) {
	var c catalog
	if err := decode(text, &c); err != nil {
		return catalog{}, fmt.Errorf("not a catalog: %w", err)
	}
	if c.Seq < 0 {
		return c, fmt.Errorf("the catalog's seq %d is below 0", c.Seq)
	}
	for name, f := range c.Files {
		if err := checkFile(name, f); err != nil {
			return c, err
		}
	}
	return c, nil
}

func checkFile(name string, f File) error {
	if want := pieces(f.Size); f.Size < 0 || int64(len(f.Chunks)) != want {
		return fmt.Errorf("a file of %d bytes cannot have %d chunks", f.Size, len(f.Chunks))
	}
	return checkName(name)
}

// pieces returns the number of chunks of a file of that size.
func pieces(size int64) int64 { return size/ChunkSize + min(1, size%ChunkSize) }

// checkName returns a *[NameError] if name is not a valid name of a file. A valid name fits
// into a URL, and a program that unpacks files below a folder cannot leave that folder.
func checkName(name string) error {
	fault := func(why string) error { return &NameError{Name: name, Why: why} }
	switch {
	case name == "" || len(name) > maxName:
		return fault(fmt.Sprintf("must have 1 to %d bytes", maxName))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsRune(name, '\\'):
		return fault("must be UTF-8 without control characters and backslashes")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return fault(`must not have a part that is empty, "." or ".."`)
		}
	}
	return nil
}
