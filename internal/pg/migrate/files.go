package migrate

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/conchhq/conch/internal/pattern"
)

type step struct {
	version  int
	name     string
	up, down string
	checksum string // of the up file alone: the down file may be corrected later
}

func (s step) String() string { return fmt.Sprintf("%04d_%s", s.version, s.name) }

var fileName = pattern.Of(`^(\d{4})_([a-z0-9_]+)\.(up|down)\.sql$`)

// Folder returns the migrations that a package embeds from its folder migrations.
func Folder(embedded embed.FS) fs.FS {
	sub, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return embedded // impossible: that is a valid name
	}
	return sub
}

// load reads and checks all files. Any other name that ends in .sql is an error, since
// its author probably believes that it is applied.
func load(fsys fs.FS) ([]step, error) {
	paths, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, err
	}
	byVersion := make(map[int]*step)
	for _, path := range paths {
		parts := fileName().FindStringSubmatch(path)
		if parts == nil {
			return nil, fmt.Errorf("%s is no migration: it should be called like 0001_name.up.sql", path)
		}
		text, err := fs.ReadFile(fsys, path)
		if err != nil {
			return nil, err
		}
		version, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, err
		}
		one := byVersion[version]
		if one == nil {
			one = &step{version: version, name: parts[2]}
			byVersion[version] = one
		}
		if one.name != parts[2] {
			return nil, fmt.Errorf("migration %04d has two names, %s and %s", version, one.name, parts[2])
		}
		if parts[3] == "down" {
			one.down = string(text)
			continue
		}
		sum := sha256.Sum256(text)
		one.up, one.checksum = string(text), hex.EncodeToString(sum[:])
	}
	return inOrder(byVersion)
}

func inOrder(byVersion map[int]*step) ([]step, error) {
	steps := make([]step, 0, len(byVersion))
	for _, one := range byVersion {
		steps = append(steps, *one)
	}
	slices.SortFunc(steps, func(a, b step) int { return a.version - b.version })
	for i, one := range steps {
		if one.version != i+1 {
			return nil, fmt.Errorf("migration %04d is missing", i+1)
		}
		if one.up == "" {
			return nil, fmt.Errorf("migration %s has no way up", one)
		}
	}
	return steps, nil
}
