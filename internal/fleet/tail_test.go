package fleet_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/conchhq/conch/internal/fleet"
)

// Each whole line is passed on once, whenever it comes; one that could not be taken comes again.
func TestTail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lines")
	full := errors.New("it cannot be taken")
	var tail fleet.Tail
	var got []string
	refuse := ""
	follow := func() error {
		return tail.Follow(path, func(line []byte) error {
			if string(line) == refuse {
				return full
			}
			got = append(got, string(line))
			return nil
		})
	}
	for _, c := range []struct {
		added, refuse string
		want          []string
		err           error
	}{
		{"", "", nil, nil},
		{"a\nb", "", []string{"a"}, nil},
		{"c\n\nd\n", "d", []string{"a", "bc", ""}, full},
		{"e", "", []string{"a", "bc", "", "d"}, nil},
	} {
		if c.added != "" {
			file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.WriteString(c.added)
			if err = errors.Join(err, file.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if refuse = c.refuse; !errors.Is(follow(), c.err) || !slices.Equal(got, c.want) {
			t.Errorf("after %q: got %q, want %q and %v", c.added, got, c.want, c.err)
		}
	}
}
