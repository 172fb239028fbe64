package chunksync

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ChunkSize is the length of every chunk of a file but the last, in bytes.
const ChunkSize = 1 << 20

const (
	// MaxCatalog bounds a catalog as it is written down and sent, in bytes: about
	// 400 GB of files.
	MaxCatalog = 32 << 20
	// MaxName bounds the name of a file, in bytes.
	MaxName = 512
)

// Hash names a chunk by its content: SHA-256.
type Hash [sha256.Size]byte

// hashOf names these bytes.
func hashOf(chunk []byte) Hash { return sha256.Sum256(chunk) }

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// parseHash reads what String writes: 64 hexadecimal digits in lower case.
func parseHash(text string) (h Hash, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(h) || hex.EncodeToString(raw) != text {
		return h, fmt.Errorf("%.80q is no chunk's name: 64 hexadecimal digits", text)
	}
	return Hash(raw), nil
}

// MarshalText writes hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) (err error) {
	*h, err = parseHash(string(text))
	return err
}

// File is the content of one name.
type File struct {
	Size   int64  `json:"size"` // in bytes
	Chunks []Hash `json:"chunks"`
}

func (f File) same(o File) bool {
	if f.Size != o.Size || len(f.Chunks) != len(o.Chunks) {
		return false
	}
	for i := range f.Chunks {
		if f.Chunks[i] != o.Chunks[i] {
			return false
		}
	}
	return true
}

// catalog is everything that there is at one version. It is a value that nobody
// changes: a write makes another. Names are keys in it and nothing on any disk.
type catalog struct {
	Tenure Tenure
	Seq    int64
	Files  map[string]File
}

// Version of the catalog.
func (c catalog) Version() Version { return Version{Epoch: c.Tenure.Epoch, Seq: c.Seq} }

// chunks are the names of all content, each once.
func (c catalog) chunks() map[Hash]struct{} {
	all := map[Hash]struct{}{}
	for _, f := range c.Files {
		for _, h := range f.Chunks {
			all[h] = struct{}{}
		}
	}
	return all
}

// names of all files, in order.
func (c catalog) names() []string { return slices.Sorted(maps.Keys(c.Files)) }

// with is the next catalog of the same tenure, with a file put or, without one, removed.
func (c catalog) with(name string, f *File) catalog {
	next := catalog{Tenure: c.Tenure, Seq: c.Seq + 1, Files: maps.Clone(c.Files)}
	if next.Files == nil {
		next.Files = map[string]File{}
	}
	if f == nil {
		delete(next.Files, name)
	} else {
		next.Files[name] = *f
	}
	return next
}

// catalogJSON is the catalog on the disk and on the wire; a tenure is called reign there.
type catalogJSON struct {
	Tenure Tenure          `json:"reign"`
	Seq    int64           `json:"seq"`
	Files  map[string]File `json:"files"`
}

// encode writes the catalog down, names in order. ErrFull: it is larger than MaxCatalog.
func (c catalog) encode() ([]byte, error) {
	text, err := json.Marshal(catalogJSON(c))
	if err == nil && len(text) > MaxCatalog {
		err = ErrFull
	}
	return text, err
}

// parseCatalog reads what encode writes, and believes nothing of it.
func parseCatalog(text []byte) (catalog, error) {
	var in catalogJSON
	if err := decode(text, &in); err != nil {
		return catalog{}, fmt.Errorf("this is no catalog: %w", err)
	}
	c := catalog(in)
	if c.Seq < 0 {
		return c, fmt.Errorf("the catalog's number %d is below 0", c.Seq)
	}
	for name, f := range c.Files {
		if err := checkName(name); err != nil {
			return c, err
		}
		if want := pieces(f.Size); f.Size < 0 || int64(len(f.Chunks)) != want {
			return c, fmt.Errorf("a file of %d bytes has %d chunks", f.Size, len(f.Chunks))
		}
	}
	return c, nil
}

// pieces is how many chunks a file has.
func pieces(size int64) int64 { return size/ChunkSize + min(1, size%ChunkSize) }

// checkName says why a text is no name of a file, in a *[NameError]: a name is UTF-8
// of up to MaxName bytes, made of parts between slashes, none of them empty, "." or
// "..", without control characters. So it may be put into a URL, and whoever unpacks
// files below a folder stays in it.
func checkName(name string) error {
	fault := func(why string) error { return &NameError{Name: name, Why: why} }
	switch {
	case name == "" || len(name) > MaxName:
		return fault(fmt.Sprintf("has to have 1 to %d bytes", MaxName))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsRune(name, '\\'):
		return fault("has to be UTF-8 without control characters and backslashes")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return fault(`must not have a part that is empty, "." or ".."`)
		}
	}
	return nil
}
